"""Everyday words of many languages, which tell nothing about what a text is about.

Only forms that ``distinctive_words`` would keep are listed: four letters or more, or a pair of signs in
scripts that do not separate words.
"""

from __future__ import annotations

from engine.topics.fields import word_set

EVERYDAY = word_set(
    """
    abbiamo abend aber about abra abre abrir aceasta această acest acesta acho acolo actually acum adalah
    adesso aften after again agli agora ahir ahoj ahora aici aika aina ainda ainult aitäh això akan akkor
    akşam albo alebo algo alguien alguna alguém alla alle alleen aller allerede alles allo allora allt
    alltid allà allí allò alors alsjeblieft also alstublieft alte although altid altijd altra altro altında
    amanhã amely amit ampak ancak anche ancora anda anders anno année antara antwoord antwort antworten
    anything apagar apague apri aprire après aquel aquela aquele aquell aquest aquesta aqui aquilo aquí
    arbeit arbejde archivo archivos arquivo arquivos asia assim asta atau atunci auch aufgabe aufgaben aura
    aussi autre avaa avait avant avea avec avem avere avete aveva avez aveți avoir avond avons avui ayer
    azok ačiū baca back bagaimana bakar bald bana banyak bara bardzo bare baru beantwoord beaucoup because
    bedankt been before behöver beim being belki bene beni benim bent berfungsi bericht berikutnya berkas
    besked besoin besok besprechung besser best bestand beter between bien bila bilang bilo bine bisa
    bisogno bist biti bitte bizim blev blir bliver bodo bola boli bolo bonjour bons borra borrar bort both
    brauche brauchen brez brief brug buat bude budem budou budú buenas buenos bugün buka bukan bulan buldum
    bunu bunun bună buongiorno burada busca buscar butuh buvo byla byli bylo była było były bütün będzie
    będą błąd būti came cancella care cari carpeta cartella caută ceci cela cerca cercare cette ceva cevap
    change chce chcem chcesz chceš chci chcę check cherche chercher chez chose choses chyba ciao cine
    citește close code coisa coisas come comme comment como compose controleren controllare copy correo cosa
    cosas cose così could crea crear creare create credo creează creo criar crie crée créer csak csinál
    csinálni cuando cuál cuándo czas czemu cześć czytać când cómo daar dabar dacă dafür dagar dage dagen
    dager daha dalla další damit danas danes dank danke dankje dankjewel dann dans dapat daran darauf darf
    dari darüber dass datei dateien davon dazu daří debe debes deci decir degli dein deine deinen deja
    delete della delle dello dels demain demà dengan denk denke denna denne depuis dere dernier dernière
    deschide desde deshalb dessa detta dette deutsch deve deves devez devi devo deze değil dias dich dies
    diese diesem diesen dieser dieses diga dimana dime dimmi dina dine ding dingen dire disse ditt dizer
    dlaczego dnes doar dobbiamo dobry dobrý doch documento doen does doing dois doit dolog domani donc doncs
    donde done dont door dort dosar dose dossier dosya dove down drei după durch dużo działa dzień dzisiaj
    dzięki dziękuję dziś déjà días díky dónde dürfen děkuji each eben eder ederim eerste efter eftersom
    egentlig egentligen ehkä eigenlijk eigentlich eile eilen eine einem einen einer eines eivät elas eles
    ella ellas elle eller elles ellos ells első előtt email emme encara encontrar encontrei encontré encore
    endnu enemmän engem ennen ennå ensimmäinen entonces entre entwurf então envia enviar envie envoie
    envoyer envía eram eran erano erau eren eres erkläre erklären erreur erstelle erstellen ersten escreva
    escrever escribe escribir escriu esos essa esse essere esta estaba estan estar estas estava este esto
    estos estou estoy està está están estás estão etmek etsi ette etter että etwas euch euer even everything
    evet ezek eğer ešte ești face factura facture factură factuur faire fais fait faites fakat faktiskt
    faktur faktura faktury falsch fare fass fasse fast fatto fattura fatura faut favor favore fazer faço
    fehler feil fejl fell fertig ficheiro fichier file filen files find finde finden findes finne finnes
    finns fins first foarte foglald folder foram fordi fordítsd fost fout frage fragen from från früher
    fueron funciona fundet fungerar funguje funktioniert funnet funziona fájl före första første fără gaan
    gaat gali galima galite galiu ganz gata gdje gdzie geben gedaan geen gefunden gegen gehen geht gehts
    gelesen gemacht genau gennem genom geprüft gerade gerek gerekiyor gern gerne gerçekten gesagt
    geschrieben gesehen gestern gevonden geweest gewesen geworden gibi gibt gift giorni giorno gisteren give
    gjennom gjerne gjort gjør gjøre glaube gleich goed goede goes going gondolom good gotowe graag gracias
    grazie greșit gràcies guten gärna gönder göra göre gøre găsi găsit haar habe haben haber había hace
    hacer hacia hadde hadden hade hafta hago hallo halo haluan hand hangi hanno hanya hapus hari harus hast
    hasta hata hatte hatten havde have having hayır hazır hebben hebt hedder heeft heel heidän hell hello
    helló help hemos hende henne henüz here heter heute hiba hier hilf hitta hittade hjelp hjelpen hledej
    hogy hogyan hoje hola holnap homme honom hotovo hova hozz hoću hočem huomenna hvad hvala hvem hvilken
    hvilket hvor hvordan hvorfor hvornår hyvin hyvä hänen hätte hónap idag ieri iets igen igjen igår ihnen
    ihre ihren ihtiyacım ikke ilman ilta imam imaš immer imorgon ingen ingenting inget ingin inte intet into
    isso istiyorum isto između için içinde jaar jahr jaki jako jaký jamais jawab jawaban jego jeho jejich
    její jener jenom jest jestem jesteś jesteśmy jestli jeszcze jetzt jeśli ještě jika jobb joka jonka
    jotain jotka jour jours jouw jsem jsme jsou jste juba juga jullie just jutri jutro juče jučer jälkeen
    kada kadar kaikki kaip kako kaks kalau kami kamu kann kannst kansio kanske kanskje kanssa kapan kaputt
    karena karşı kasih kateri katso katsoa kažkas kdaj když kein keine keinen kell kemarin kenapa keresd
    keress kerja kiedy kiitos kijk kijken kind kirim kirimkan kirjoita kirjoittaa kita klaar klar klasör
    know kodėl koja koje koji kokia kokous koks kolla komen komm kommen kommer kommt komt konnte kontrol
    koska která které který ktorá ktoré ktorý która które który kuidas kuin kuinka kuka kunde kunne kunnen
    kunt kuris kurz kurze kuukausi kuuluu kveld kväll kyllä käännä kérem kérlek kész kõik können könnte
    könnten köszönöm következő küldd küldeni laatste labai labas lagi lahko lange lasku last lavoro lebih
    lebo leer lees leggere leggi lehet lehetséges leia leider lenne lenni lesen lesz leta lets letzte
    letzten leur leurs leute lezen lhes liegen liegt lies lige ligt lihat link lire list look loro lucru
    luego lună luulen látni lähetä läuft lösch lösche löschen löysin löytää lütfen maak maand maar mach
    mache machen macht made mahdollista mail maintenant mais make maken mala malam male mana manda mandar
    mandare mane mange mano many mapp mappa mappe marche masalah masalahnya masih masz matin mattina maybe
    mañana medan meddelande medzi meer megbeszélés meget megy mehr meidän meie mein meine meinem meinen
    meiner melding melyik membuat mengapa mennä meno menos mens mensagem mensaje merci mere mereka mereu
    merge merhaba mert mesaj mese message messages messaggio meus meva mezi miał mich mida midagi miei
    miesiąc mieć might mihin mijn mikor miks miksi mikä millal mille milloin milyen mina mind minden mindig
    mine minggu minha minhas minket minu minua minulle minun minä misin misschien missä mistä miten mitt
    mitte mitä mitään miért między mnie moet moeten mogelijk mogen mogu mogę mogłabyś mohl mohu moin moins
    mois moja moje molim molt molta molto monat mondd more morgen morgon most mostra move może możesz
    możliwe można može možemo možeš možno možné much mucha muchas mucho muita muitas muito mulig muligt
    mulle mult mulțumesc muncă mungkin munka musi muss musst must musun muszę musí musím musíš mutta mycket
    myslím myös myślę máme mâine månad måned måske måste même mógłbyś môže môžem môžete môžeš möchte möchten
    möglich möjligt möte møde møte mümkün müssen müsste müsün měsíc mısın může můžeš můžu működik naar nach
    nacht nada nagyon najdi najít napisz napiš napiši napíš następny nasıl nasılsın nasılsınız nato
    natuurlijk natürlich nazywa nađi našel nebo necesita necesito necessito nech neden need nein nekaj neked
    nekem neki nekünk nella nelle nema nerede nereye nessuno neste neue neuen neuer neues nevoie next nešto
    nicht nichts nieko niente niet niets nieuwe niiden niin nije nimam nimic ning nisam niso nisu niçin
    ništa niște noch noche nodig noen nogen noget noite només noriu nosaltres nosotros nossa nosso nostra
    nostro nothing notre nous nouveau nouvelle nova novo nová nový nowa nowy nuestra nuestro nueva nuevo
    nulla numa nunca nuova nuovo nustatyk nyisd nytt nájdi nächste nächsten nächster nähdä nämä nästa någon
    något næste nézd nézni nötig nüüd něco obre obrigada obrigado obriši obwohl ochtend också oder odpověz
    odpověď odpowiedz odpowiedź odpri offene offenen oggi også ohne okay olacak olan olarak oldu oled oleh
    olema olemme olen olet olette olid olisi olivat olla ollut olmak olur oluştur olvasd omdat onde onder
    ongelma onlar only ontem onun onze open opprett oppsummer opret opsummer orada oraz ordner ostatni
    otevři other otra otro otvor otvori otwórz outra outro ouvrir ovat over oversett oversæt pada page pages
    paljon palju palun para parce parodyk pasta peab pela pelo penso pentru perchè perché periksa pero
    perquè pertama però pesan peste peut peuvent peux pierwszy pikir pitää plan plaît please plik plus poate
    poco pode podem poderia podes podeu podría podrías podsumuj podívej podľa poista pokaži pole pomôž
    ponieważ porque porqué porquê posibil poslat posle poslední poslije possible posso possono potom
    potrebbe potrebujem potresti potrzebuję pots potřebuji pouco pour pourquoi pourrais pourrait pourriez
    pouvez powiedz pošalji pošli pošlji poți praca prašau precisa preciso pred premier première preto
    preveri prečo prie prije prikaži prima primeira primeiro primera primero primo prin probleem problem
    problema problemet problemă problème problém probléma prochain prochaine procurar procure prosim
    prossima prossimo proszę prosím protože proveri provjeri proč první przeczytaj przed przetłumacz przez
    przy práce práve próxima próximo prüfe prüfen puede pueden puedes puedo pues puoi puțin päivä päivää
    před přelož přes přečti qual qualcosa quale quan quand quando quant quel quella quelle quelles quelli
    quello quelque quels quem quer queres quero questa queste questi questo quien quiere quieres quiero quin
    quina quindi quién quoi rapat rate read really rechnung rechnungen redan reikia remove responda responde
    resposta respuesta resuma resume reunião reunión revisa revisar rezumă riassumi richtig rien ringkas
    rispondi risposta riunione robi rytoj rzecz répondre réponds réponse résume réunion răspunde răspuns
    saab saan sabes sada sadece sagen said saker salah salut same samenvatten samenvatting sammanfatta samo
    sana sangat sanoa sans sarà savo saya schau schauen schick schicke schicken schnell schon schreib
    schreibe schreiben schrijf schrijven schůzka scrie scrivere scrivi seal seară seda sedan sedang sehen
    sehr sein seine seinen seit sekarang selalu selam selamat selesai selle semaine semana semmi sempre
    semua send sende seni senin sense sera serait seria servus sesuatu settimana seuraava seus seva shall
    should show shrň siamo siapa siden sidste siellä siempre siete sige sigui siin siis sina sind sinds sine
    sini sinu sinua sinulle sinun sinä sista siste sitt sitä sjekk sjekke skal skapa skicka skontroluj skriv
    skriva skrive skulle slet slett složka smaž snälla sobre soir soit soll sollen sollte sollten solo some
    someone something sommes somos sono sonra sont sorry sorun soubor sous spotkanie sprawdzić sprawdź spre
    spune später staat stai start stata stato stehen steht stern still stimmt stop sturen stuur stwórz suas
    such suche sudah suis sulla sunt suntem supaya supprime supprimer sutra svake svar svara svoj svůj swój
    synes szeretném szia szukaj számla szépen säga sólo săptămână taas tack tady tahan tahu tahun taip takk
    taky také także takže talk találtam talán tamam también també também tamo tanpa tapi tarde tarvitsen
    tavo tega tegen tegnap tego tehdä tehty teidän telah tell tema tempo temps temukan tener tengo tenho
    tens tentang tento terakhir teraz tere terima terjemahkan termin termine terwijl test tests tetapi teva
    text teşekkür teşekkürler than thank thanks that their them then there these they think this those
    though tidak tiedosto tiedän tiempo tiene tienes tiež tiivistä tijd till time timp tinc ting tinha titta
    tjek tjekke toate toată toch toda todas todavía today todo todos toho toimii tolong tomorrow toplantı
    totes toto tots toujours tous tout toute toutes toți trabajo trabalho tradu traduce traduci traduis
    traduza treba trebam trebuie trenger trimite troba trop tror trotzdem trouve trouver trouvé trova
    trovare trovato trzeba très tschüss tudi tudna tudo tudod tudom tudsz tukaj tulis turi turiu tusen
    tusind tutaj tutta tutte tutti tutto tvoj tvůj twoja twój tych tycker tydzień tylko táto tämä tämän täna
    tänään tätä täytyy täällä téged több töröld týden těch uden udělat udělej ukáž ultima ultimo umas unas
    unde under unos unser unsere unter until untuk update used using usted ustedes usuń utan uten utolsó
    utwórz után uusi vagy vagyok vaikka vain vais vakar valami valmis vamos vandaag vannak vara varför varit
    vastaa vastaus vecka vedere veel velem velmi venligst vennligst veoma vergadering verificar vers vertaal
    verwijder verwijderen very veut veux veya vezi večer veľmi viac viel viele vielleicht vielä viem viesti
    viikko viimeinen vilka vilken vilket vill ville vind vinden virhe virker visas viskas visus você vocês
    voglio voici voiko voilà voir voisit voisitko voit voitko volgende volt voltak voor vores vorrei
    vosaltres votre voudrais voulez vous vrea vreau vrei vreme vrijeme vrlo vull vuoi vuole vuosi vytvoř
    válasz válaszolj väga våra våre vårt være været vært vérifie vérifier více včera včeraj všechno všechny
    všetko vždy waar waarom waktu wann wanneer want waren warten warum wczoraj week weer weet weil weinig
    welche welcher welches welke well wenig wenn werd werden were werk werkt weshalb weten what when where
    which while whom whose wiadomość wichtig wieczór wieder wiem wieso will willen wilt wird wirklich wissen
    with więc więcej woche woher wohin wollen worden wordt work working would write wszystkie wszystko wurde
    wurden wysłać wyślij während wäre yang yapabilir yapar yapmak yarın yeni yesterday your yours zajtra
    zakaj zaman zase zaten zato zawsze zašto zbog zdaj zdravo zeer zeggen zeig zeige zeit zelo zien zijn
    zkontroluj znalazłem znaleźć znowu zobacz zodat zoek zoeken zoiets zonder zouden zpráva zrobić zrób
    zuerst zuletzt zullen zusammen zwei zítra ändere ändern ännu åpne çalışıyor çevir çünkü écrire écris
    étaient était êtes être írni înainte încă între öffne öffnen önce öppna över översätt özetle újra última
    último über übersetze übersetzen üzenet üzerinde ćemo ďakujem řekni şimdi şunu šiandien żeby želim
    ședință șterge
    """
)
