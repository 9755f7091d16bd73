"""The words that hold a language's sentences together, and the letters and endings typical of it.

A word stands under every language that uses it, and also where it is an everyday word of another kind: "die",
"war" and "hat" are English too. What several languages share counts for little; what one has alone decides.
"""

from __future__ import annotations

WORDS = {
    "en": (
        "the a an and or but not no yes of to in on at by for with from about into over under between "
        "after before is are was were be been being am do does did doing done have has had having will "
        "would shall should can could may might must i you he she it we they me him her us them my your "
        "his its our their mine yours this that these those there here who whom whose which what when "
        "where why how if then than as so such because while until though although all any both each "
        "few more most other some only own same too very just also now please thanks thank hello hi hey "
        "okay sorry let let's lets get got make made need want know think see look use using used try "
        "new old first last next one two don't doesn't didn't can't won't isn't aren't wasn't i'm i'll "
        "i've i'd you're it's that's what's we're they're there's couldn't shouldn't wouldn't up out "
        "off down again still even back way been man men war die den hat rot kind bald gift also will "
        "arm an hand best fast art bad rate list tag plan fell hell brief stern her am dies dank dose "
        "fur pour tell give show find help time day week today tomorrow yesterday work working file "
        "files code car male go going goes w resume compose text message messages mail email send open "
        "close run start stop add remove update create delete change move copy write read check fix "
        "test tests page pages list link talk say said came come someone something anything nothing "
        "everything really actually maybe could've much many well good"
    ),
    "de": (
        "der die das den dem des ein eine einen einem einer eines und oder aber nicht kein keine keinen "
        "ja nein von zu zum zur im in an am auf für mit ohne über unter bei nach vor seit aus durch "
        "gegen um bis ist sind war waren bin bist sein wäre sei wird werden wurde wurden worden hat "
        "habe haben hast hatte hatten hätte kann kannst können könnte könnten konnte muss musst müssen "
        "müsste soll sollen sollte sollten will wollen möchte möchten darf dürfen mag ich du er sie es "
        "wir ihr mich mir dich dir ihn ihm uns euch ihnen mein meine meinen meiner meinem dein deine "
        "deinen sein seine seinen unser unsere euer ihre ihren dieser diese dieses diesen diesem jener "
        "welche welcher welches wer wen wem was wann wo wohin woher warum wieso weshalb wie wenn dann "
        "als so weil damit dass daß ob während obwohl alle alles etwas nichts man mehr sehr nur noch "
        "schon auch immer wieder jetzt hier dort da doch mal bitte danke hallo guten gut gern gerne "
        "eben gerade heute morgen gestern bald machen macht mache gemacht gibt geben geht gehen gehts "
        "schau schauen sehen finde finden brauche brauchen weiß weißt wissen denke glaube sagen sag "
        "zeig zeige hilf prüfen prüfe schreib schreibe schreiben erkläre erklären lösche ändere ändern "
        "neue neuen neuer neues alte ersten letzte letzten nächste zwei drei vielleicht eigentlich "
        "wirklich leider natürlich genau also kurz warten wäre ins ans beim vom hab euch tschüss moin "
        "servus läuft funktioniert kaputt fehler steht stehen liegt liegen heißt heiße kommt kommen "
        "komm mach fass fasse zusammen offenen offene datei dateien ordner rechnung rechnungen termin "
        "termine besprechung aufgabe aufgaben erstelle erstellen lösch löschen suche such schick "
        "schicke schicken sende lies lesen öffne öffnen zeit arbeit jahr leute frage fragen antwort "
        "antworten bericht entwurf übersetze übersetzen deutsch beim dafür dazu davon daran darüber "
        "damit darauf deshalb trotzdem außerdem zuerst zuletzt später früher viel viele wenig ganz "
        "gleich anders besser gefunden gesehen gesagt gewesen geworden gelesen geschrieben geprüft "
        "wichtig richtig falsch möglich nötig schnell fertig stimmt abend nacht tag woche monat uhr "
        "nächsten nächster letzten kurze lange"
    ),
    "fr": (
        "le la les un une des du de d'un d'une l' et ou mais ne pas non oui à au aux en dans sur sous "
        "avec sans pour par chez entre vers depuis avant après est sont était étaient être suis es "
        "sommes êtes été sera serait a ai as avons avez ont avait avoir aura peux peut pouvez peuvent "
        "pourrait pourrais pourriez dois doit devez faut veux veut voulez voudrais je tu il elle on "
        "nous vous ils elles me te se moi toi lui leur y mon ma mes ton ta tes son sa ses notre nos "
        "votre vos leurs ce cet cette ces cela ça c'est qui que qu'est quoi dont où quand comment "
        "pourquoi quel quelle quels quelles si comme parce car donc alors tout toute tous toutes plus "
        "moins très trop aussi bien mal encore déjà toujours jamais rien ici là merci bonjour salut "
        "s'il plaît svp faire fait fais faites aller vais va voir voici voilà dire aujourd'hui demain "
        "hier maintenant j'ai j'avais n'est n'ai d'accord l'on qu'il qu'elle quelque chose peu beaucoup "
        "même autre nouveau nouvelle envoie vérifier écrire fichier message j'aimerais trouve trouvé "
        "trouver erreur problème envoyer écris écrire lire ouvrir supprime supprimer créer crée vérifie "
        "réponse réponds répondre résume cherche chercher dossier facture réunion semaine mois jour "
        "jours année soir matin temps chose choses besoin possible marche toutes nouveau après pourrait "
        "l'erreur l'équipe prochaine prochain dernier dernière première premier traduis mille soit ceci"
    ),
    "es": (
        "el la los las un una unos unas de del y o pero no sí si a al en con sin por para sobre entre "
        "desde hasta hacia es son era eran ser soy eres somos está están estoy estás estar estaba fue "
        "fueron ha he has han hemos había hay haber puede puedes pueden puedo podría podrías debe debes "
        "quiero quieres quiere tiene tienes tengo tener yo tú usted él ella nosotros ustedes ellos "
        "ellas me te se nos le les lo mi mis tu tus su sus nuestro nuestra este esta esto estos estas "
        "ese esa eso esos aquel que qué quién quien cuál cuándo cuando dónde donde cómo como porque "
        "porqué pues entonces todo toda todos todas más menos muy mucho mucha poco también ya aún "
        "todavía siempre nunca nada algo alguien aquí ahí allí ahora hoy mañana ayer gracias hola "
        "buenos buenas favor hacer hace hago haz ver voy va vamos decir dime otro otra nuevo nueva bien "
        "mal así solo sólo revisar archivo mensaje envía enviar escribe escribir leer lee abrir abre "
        "borra borrar crear crea busca buscar encontré encontrar resume respuesta responde carpeta "
        "factura reunión semana mes año día días tarde noche tiempo cosa cosas necesito necesita "
        "problema trabajo próxima próximo último última primero primera traduce muchas buenas desde "
        "luego puedo sabes sé creo funciona está archivos correo"
    ),
    "it": (
        "il lo la i gli le un uno una di del dello della dei degli delle e ed o ma non sì no a ad al "
        "allo alla ai agli alle in nel nella nei nelle con su sul sulla per tra fra da dal dalla dai è "
        "sono era erano essere sei siamo siete stato stata sarà ho hai ha abbiamo avete hanno aveva "
        "avere può puoi possono posso potrebbe potresti deve devi devo dobbiamo vuoi voglio vuole "
        "vorrei io tu lui lei noi voi loro mi ti si ci vi me te mio mia miei tuo tua suo sua nostro "
        "nostra questo questa questi queste quello quella quelli che chi cosa quale quando dove come "
        "perché perchè se allora quindi tutto tutta tutti tutte più meno molto molta poco anche già "
        "ancora sempre mai niente nulla qualcosa qui qua là adesso ora oggi domani ieri grazie ciao "
        "buongiorno favore fare fatto fai fa vedere dire dimmi altro altra nuovo nuova bene male così "
        "solo controllare c'è l'ho dell' nell' all' un' messaggio manda mandare scrivi scrivere leggi "
        "leggere apri aprire cancella crea creare cerca cercare trovato trovare trova riassumi risposta "
        "rispondi cartella fattura riunione settimana mese anno giorno giorni sera mattina tempo cose "
        "bisogno problema lavoro prossima prossimo ultimo ultima primo prima traduci mille funziona so "
        "sai credo penso nessuno documento dal sto stai sta"
    ),
    "pt": (
        "o a os as um uma uns umas de do da dos das e ou mas não sim em no na nos nas com sem por para "
        "pelo pela sobre entre desde até é são era eram ser sou somos está estão estou estar estava foi "
        "foram ha há tem têm tenho ter tinha pode podes podem posso poderia deve deves devo quero quer "
        "queres eu tu você vocês ele ela nós eles elas me te se lhe lhes meu minha meus minhas teu tua "
        "seu sua seus suas nosso nossa este esta isto esse essa isso aquele aquela aquilo que quem qual "
        "quando onde como porque porquê por então todo toda todos todas tudo mais menos muito muita "
        "pouco também já ainda sempre nunca nada algo alguém aqui ali lá agora hoje amanhã ontem "
        "obrigado obrigada olá oi bom favor fazer faz faço ver vou vai vamos dizer diga outro outra "
        "novo nova bem mal assim só verificar arquivo ficheiro mensagem ao aos à às num numa manda "
        "mandar envie enviar escreva escrever ler leia abrir abra apague apagar criar crie procure "
        "procurar encontrei encontrar resuma resposta responda pasta fatura reunião semana mês ano dia "
        "dias tarde noite tempo coisa coisas preciso precisa problema trabalho próxima próximo último "
        "última primeiro primeira traduza funciona sei acho muitas bons arquivos seria"
    ),
    "nl": (
        "de het een en of maar niet geen ja nee van te tot in op aan bij met zonder voor over onder "
        "naar uit door tegen om na sinds is zijn was waren ben bent geweest wordt worden werd heb hebt "
        "heeft hebben had hadden kan kun kunt kunnen kon zou zouden moet moeten wil wilt willen mag "
        "mogen zal zullen ik jij je hij zij ze wij we jullie u mij me jou hem haar ons hen hun mijn "
        "jouw zijn onze dit dat deze die wie wat wanneer waar waarom hoe welke als dan want omdat zodat "
        "terwijl alle alles iets niets meer zeer heel erg alleen nog al ook altijd weer nu hier daar er "
        "toch even graag alsjeblieft alstublieft bedankt dank dankjewel hallo goed goede maken maak "
        "gedaan doen doe gaat gaan zien kijk kijken vind vinden weet weten denk zeggen zeg nieuwe "
        "eerste laatste volgende vandaag morgen gisteren misschien eigenlijk natuurlijk controleren "
        "bestand bericht stuur sturen schrijf schrijven lees lezen open verwijder verwijderen maak zoek "
        "zoeken gevonden samenvatten samenvatting antwoord beantwoord map factuur vergadering week "
        "maand jaar dag dagen avond ochtend tijd ding dingen nodig probleem werk volgende vertaal werkt "
        "ligt staat zit zat komt komen jan veel weinig beter fout mogelijk graag dankje zoiets even "
        "gaat klaar"
    ),
    "sv": (
        "den det de en ett och eller men inte ej ja nej av till i på vid med utan för om under över "
        "från ut genom mot efter före sedan är var vara varit blir blev har hade ha kan kunde ska "
        "skulle måste vill ville får får bör jag du han hon vi ni dem mig dig honom henne oss er min "
        "mitt mina din ditt dina sin sitt sina vår vårt våra denna detta dessa som vem vad när var "
        "varför hur vilken vilket vilka då än så eftersom medan alla allt något någon inget ingenting "
        "mer mycket bara ännu redan också alltid igen nu här där idag imorgon igår tack hej snälla göra "
        "gör gjort går gå se ser hitta vet tror säga säg skriva ny nya nytt första sista nästa kanske "
        "egentligen faktiskt kolla titta filen meddelande skicka skriv läs öppna ta bort skapa sök "
        "hittade hitta sammanfatta svar svara mapp faktura möte vecka månad år dag dagar kväll morgon "
        "tid sak saker behöver problemet jobb nästa översätt fungerar mår tycker också mycket fel "
        "möjligt gärna klar finns heter kommer"
    ),
    "da": (
        "den det de en et og eller men ikke ja nej af til i på ved med uden for om under over fra ud "
        "gennem mod efter før siden er var være været bliver blev har havde have kan kunne skal skulle "
        "må vil ville får bør jeg du han hun vi dem mig dig ham hende os jer min mit mine din dit dine "
        "sin sit sine vores denne dette disse som hvem hvad hvornår hvor hvorfor hvordan hvilken "
        "hvilket da end så fordi mens alle alt noget nogen intet ingenting mere meget kun endnu "
        "allerede også altid igen nu her der dag morgen går tak hej venligst gøre gør gjort gå se ser "
        "finde ved tror sige skrive ny nye nyt første sidste næste måske egentlig filen besked lige jo "
        "ikke send skriv læs åbn slet opret søg fundet finde opsummer svar mappe faktura møde uge måned "
        "år dag dage aften tid ting brug problemet arbejde næste oversæt virker synes tjekke tjek fejl "
        "muligt gerne klar findes hedder kommer mange tusind"
    ),
    "no": (
        "den det de en et ei og eller men ikke ja nei av til i på ved med uten for om under over fra ut "
        "gjennom mot etter før siden er var være vært blir ble har hadde ha kan kunne skal skulle må "
        "vil ville får bør jeg du han hun vi dere dem meg deg ham henne oss min mitt mine din ditt dine "
        "sin sitt sine vår vårt våre denne dette disse som hvem hva når hvor hvorfor hvordan hvilken "
        "hvilket da enn så fordi mens alle alt noe noen ingen ingenting mer mye bare ennå allerede også "
        "alltid igjen nå her der dag morgen går takk hei vennligst gjøre gjør gjort gå se ser finne vet "
        "tror si skrive ny nye nytt første siste neste kanskje egentlig filen melding send skriv les "
        "åpne slett opprett søk funnet finne oppsummer svar mappe faktura møte uke måned år dag dager "
        "kveld tid ting trenger problemet jobb neste oversett virker synes sjekke sjekk feil mulig "
        "gjerne klar finnes heter kommer mange tusen hjelpen hjelp"
    ),
    "fi": (
        "ja tai mutta ei en et emme ette eivät kyllä on olen olet olemme olette ovat oli olivat ollut "
        "olla olisi ole minä sinä hän me te he minun sinun hänen meidän teidän heidän minua sinua "
        "minulle sinulle tämä tuo se nämä nuo ne tämän sen niiden tätä sitä joka jotka jonka mikä mitä "
        "kuka milloin koska missä mistä mihin miksi miten kuinka jos niin kun kuin että vaikka kaikki "
        "jotain mitään enemmän hyvin vain vielä jo myös aina taas nyt täällä siellä tänään huomenna "
        "eilen kiitos hei moi ole hyvä tehdä tee tehty mennä katso katsoa nähdä löytää tiedän luulen "
        "sanoa kirjoita uusi ensimmäinen viimeinen seuraava ehkä voi voit voisit voisitko voitko voiko "
        "pitää täytyy haluan kanssa ilman jälkeen ennen tiedosto viesti lähetä kirjoittaa lue avaa "
        "poista luo etsi löysin tiivistä vastaus vastaa kansio lasku kokous viikko kuukausi vuosi päivä "
        "päivää ilta aika asia tarvitsen ongelma työ käännä toimii virhe mahdollista valmis paljon "
        "kuuluu"
    ),
    "pl": (
        "i a oraz lub albo ale nie tak w we z ze na do od po przy dla bez przez pod nad między o u za "
        "przed jest są był była było były być będzie będą jestem jesteś jesteśmy ma mam masz mieć miał "
        "może możesz mogę można mógłbyś mogłabyś musi muszę trzeba chcę chcesz chce ja ty on ona ono my "
        "wy oni mnie mi mną cię ci go jego jej ich nas nam was mu się mój moja moje twój twoja swój ten "
        "ta to te tego tej tych ci tym który która które kto co kiedy gdzie dlaczego czemu jak jaki czy "
        "jeśli gdy bo ponieważ żeby aby więc wszystko wszystkie coś nic więcej bardzo tylko jeszcze już "
        "też także zawsze znowu teraz tutaj tu tam dziś dzisiaj jutro wczoraj proszę dziękuję dzięki "
        "cześć dzień dobry zrobić zrób robi iść zobacz sprawdź sprawdzić wiem myślę powiedz napisz nowy "
        "nowa pierwszy ostatni następny plik wiadomość wyślij wysłać przeczytaj czytać otwórz usuń "
        "utwórz stwórz szukaj znalazłem znaleźć podsumuj odpowiedź odpowiedz folder faktura faktury "
        "spotkanie tydzień miesiąc rok dzień dni wieczór czas rzecz potrzebuję problem praca "
        "przetłumacz działa masz błąd możliwe gotowe nazywa bardzo dużo jest"
    ),
    "cs": (
        "a i nebo ale ne ano v ve z ze na do od po při pro bez přes pod nad mezi o u za před je jsou "
        "byl byla bylo byli být bude budou jsem jsi jsme jste má mám máš mít může můžeš mohu můžu mohl "
        "musí musím musíš chci chceš chce já ty on ona ono my vy oni mě mně mi tě ti ho jeho její "
        "jejich nás nám vás vám mu se si můj moje tvůj svůj ten ta to ty toho té těch tím který která "
        "které kdo co kdy kde proč jak jaký zda jestli když protože aby takže všechno všechny něco nic "
        "více velmi jen jenom ještě už také taky vždy zase teď tady tam dnes zítra včera prosím děkuji "
        "díky ahoj dobrý den udělat udělej jít podívej zkontroluj vím myslím řekni napiš nový nová "
        "první poslední další soubor zpráva pošli poslat přečti otevři smaž vytvoř hledej našel najít "
        "shrň odpověď odpověz složka faktura schůzka týden měsíc rok den dny večer čas věc potřebuji "
        "problém práce přelož funguje chyba možné hotovo moc máš daří"
    ),
    "tr": (
        "ve veya ama fakat değil hayır evet bir bu şu o ben sen biz siz onlar beni seni bana sana ona "
        "bizim benim senin onun için ile gibi kadar sonra önce göre karşı üzerinde altında içinde var "
        "yok mı mi mu mü mısın misin musun müsün idi olan olarak oldu olur olacak olmak etmek yapmak "
        "yap yapar yapabilir misin lütfen teşekkürler teşekkür merhaba selam tamam ne neden niçin nasıl "
        "nerede nereye kim hangi kaç eğer çünkü ancak hem her hiç bütün tüm şey çok az daha en sadece "
        "henüz zaten de da şimdi burada orada bugün yarın dün iyi yeni ilk son belki gerçekten "
        "istiyorum gerek gerekiyor bakar bak kontrol dosya mesaj gönder yaz oku aç sil oluştur ara "
        "buldum bul özetle cevap klasör fatura toplantı hafta ay yıl gün akşam zaman ihtiyacım sorun iş "
        "çevir çalışıyor hata mümkün hazır nasılsın nasılsınız ederim eder bunu bunun şunu"
    ),
    "ro": (
        "și sau dar nu da de la în din pe cu fără pentru prin între sub peste spre după înainte este "
        "sunt era erau fi fost sunt ești suntem am ai are avem aveți au avea poate poți pot trebuie "
        "vreau vrei vrea eu tu el ea noi voi ei ele mă te se îl o ne vă le îmi îți meu mea tău ta său "
        "acest această acesta aceasta ce cine care când unde cum dacă atunci deci pentru că tot toată "
        "toți toate mai foarte mult puțin doar încă deja și mereu nimic ceva aici acolo acum azi mâine "
        "ieri mulțumesc bună salut rog face fac vezi spune alt nou bine asta un niște trimite scrie "
        "citește deschide șterge creează caută găsit găsi rezumă răspuns răspunde dosar factură ședință "
        "săptămână lună an zi seară timp lucru nevoie problema problemă muncă tradu merge greșit "
        "posibil gata mult poți"
    ),
    "hu": (
        "a az és vagy de nem igen egy ez ezt azt ezek azok van vannak volt voltak lenne lesz lenni "
        "vagyok én te ő mi ti ők engem téged nekem neked neki minket nekünk velem ami aki amely amit "
        "mit ki mikor hol hova miért hogyan hogy milyen melyik ha akkor mert bár minden valami semmi "
        "több nagyon csak még már is mindig újra most itt ott ma holnap tegnap kérem kérlek köszönöm "
        "szia helló jó csinálni csinál megy nézd látni tudom tudod tudsz tudna gondolom mondd írj új "
        "első utolsó következő talán kell lehet szeretném fájl üzenet meg le fel után előtt küldd "
        "küldeni írni olvasd nyisd töröld hozz keress keresd találtam foglald válasz válaszolj mappa "
        "számla megbeszélés hét hónap év nap este idő dolog probléma munka fordítsd működik hiba "
        "lehetséges kész szépen nézni"
    ),
    "id": (
        "yang dan atau tapi tetapi tidak bukan ya di ke dari pada untuk dengan tanpa oleh tentang "
        "antara adalah ini itu saya aku kamu anda dia kami kita mereka ada akan sudah telah sedang "
        "masih bisa dapat harus mau ingin apa siapa kapan mana dimana mengapa kenapa bagaimana jika "
        "kalau karena supaya semua sesuatu lebih sangat hanya juga selalu lagi sekarang sini sana hari "
        "besok kemarin tolong terima kasih halo selamat buat membuat lihat periksa tahu pikir bilang "
        "tulis baru pertama terakhir berikutnya mungkin berkas pesan kirim kirimkan tulis baca buka "
        "hapus cari temukan ringkas jawab jawaban folder faktur rapat minggu bulan tahun malam waktu "
        "hal butuh masalah masalahnya kerja terjemahkan berfungsi salah mungkin selesai banyak di"
    ),
    "sk": (
        "a aj ako ale alebo ani áno bez bol bola bolo boli by byť čo do dnes ich je jeho jej keď kde kto "
        "ktorý ktorá ktoré ku len lebo má mám máme máš medzi môj moja moje môže môžeš môžem môžete možno "
        "mi na nad nám nás nie nič no o od on ona oni po pod podľa pre pred pri prosím preto prečo sa sme "
        "si sú som ste svoj ta tak tam teraz ten to toto tu už v včera vás veľmi viem viac vo všetko z za "
        "zajtra zo že ďakujem ahoj dobrý deň pomôž ukáž skontroluj napíš pošli nájdi otvor chcem "
        "potrebujem treba bude budem budú mal mala nech tiež ešte práve potom tento táto iba vždy"
    ),
    "sl": (
        "in je na za se da ne so v z s ki bi tudi pa ali ampak kot če kdo kaj kje kdaj kako zakaj jaz ti "
        "on ona mi vi oni moj moja tvoj sem si smo ste bil bila bilo bodo bo biti imam imaš ima lahko "
        "prosim hvala zdravo danes jutri včeraj zdaj tukaj tam vse nič nekaj več zelo samo še že pri po "
        "od do iz ob pred med brez kateri ta to te tega treba hočem želim pokaži preveri napiši pošlji "
        "odpri najdi nimam ni niso mu me jih jo svoj eno dve leta kar zato nato"
    ),
    "hr": (
        "i u je na se da ne za od su sa s iz do o po kao ili ali ako što kako gdje kad kada zašto tko ja "
        "ti on ona mi vi oni moj moja moje tvoj svoj sam si smo ste bio bila bilo biti će ću ćeš ćemo "
        "može možeš mogu možemo treba trebam hoću želim imam imaš ima nema nije nisu nisam ovo to taj ta "
        "koji koja koje samo još već vrlo jako sve ništa nešto sada tu tamo danas sutra jučer molim hvala "
        "bok pokaži prikaži provjeri napiši pošalji otvori nađi obriši li me te ga ju im nam vam kod "
        "prije poslije zbog između bez svake vrijeme"
    ),
    "sr": (
        "i u je na se da ne za od su sa s iz do o po kao ili ali ako šta što kako gde kad kada zašto ko "
        "ja ti on ona mi vi oni moj moja moje tvoj svoj sam si smo ste bio bila bilo biti će ću ćeš ćemo "
        "može možeš mogu možemo treba hoću želim imam imaš ima nema nije nisu nisam ovo to taj ta koji "
        "koja koje samo još već veoma jako sve ništa nešto sada tu tamo danas sutra juče molim hvala "
        "zdravo pokaži prikaži proveri napiši pošalji otvori nađi obriši li me te ga im nam vam kod pre "
        "posle zbog između bez svake vreme"
    ),
    "ca": (
        "el la els les un una i o però no sí de del dels a al als en amb per sense sobre és són era eren "
        "ser sigui està estan he has ha hem heu han hi ho em et es ens us jo tu ell ella nosaltres "
        "vosaltres ells meu meva teu teva seu seva aquest aquesta això allò aquell què qui quan on com "
        "quin quina quant perquè si doncs també més molt només ja encara sempre mai res alguna tot tots "
        "totes ara aquí allà avui demà ahir gràcies hola bon dia vull pots puc podeu podem cal fer fes "
        "mostra revisa escriu envia obre cerca troba necessito tinc tens té entre fins que"
    ),
    "lt": (
        "ir yra kad bet ar ne taip su be į iš ant po už per prie nuo iki dėl kaip kas kur kada kodėl "
        "kuris kokia koks aš tu jis ji mes jūs jie mano tavo savo buvo bus būti galima gali galiu galite "
        "reikia noriu turiu turi prašau ačiū labas šiandien rytoj vakar dabar čia ten viskas nieko kažkas "
        "labai tik dar jau vėl pat tai šis ši tas ta man mane visus visas parodyk nustatyk"
    ),
    "et": (
        "ja on ei see ma sa ta me te nad et kui kas mis kes kus millal miks kuidas aga või ka veel juba "
        "siis siin seal täna homme eile palun aitäh tere minu sinu tema meie oli olid olen oled olema "
        "olla saab saan pole mitte kõik midagi väga ainult nüüd üks kaks oma mulle mind selle seda palju "
        "peab tahan ning mida"
    ),
}

CHARACTERS = {
    "de": "äöüß",
    "fr": "éèêëàâçîïôûùœ",
    "es": "áéíóúñ",
    "it": "àèéìòù",
    "pt": "ãõáéíóúâêôç",
    "nl": "ëï",
    "sv": "åäö",
    "da": "åæø",
    "no": "åæø",
    "fi": "äö",
    "pl": "ąćęłńóśźż",
    "cs": "áčďéěíňóřšťúůýž",
    "tr": "çğıöşü",
    "ro": "ăâîșțşţ",
    "hu": "áéíóöőúüű",
    "sk": "áäčďéíĺľňóôŕšťúýž",
    "sl": "čšž",
    "hr": "čćđšž",
    "sr": "čćđšž",
    "ca": "àçèéíïòóúü",
    "lt": "ąčęėįšųūž",
    "et": "äõöü",
}

ENDINGS = (
    ("ungen", "de"),
    ("ung", "de"),
    ("ieren", "de"),
    ("iert", "de"),
    ("lich", "de"),
    ("liche", "de"),
    ("keit", "de"),
    ("heit", "de"),
    ("schen", "de"),
    ("ment", "fr"),
    ("euse", "fr"),
    ("erait", "fr"),
    ("ción", "es"),
    ("mente", "es"),
    ("mente", "it"),
    ("mente", "pt"),
    ("iamo", "it"),
    ("zione", "it"),
    ("zioni", "it"),
    ("ção", "pt"),
    ("ções", "pt"),
    ("lijk", "nl"),
    ("heid", "nl"),
    ("ingen", "nl"),
    ("ningen", "sv"),
    ("ingen", "sv"),
    ("ować", "pl"),
    ("anie", "pl"),
    ("ssa", "fi"),
    ("lla", "fi"),
    ("inen", "fi"),
    ("yor", "tr"),
    ("ların", "tr"),
    ("tion", "en"),
    ("ing", "en"),
    ("ment", "en"),
    ("ness", "en"),
    ("ly", "en"),
    ("ed", "en"),
)
