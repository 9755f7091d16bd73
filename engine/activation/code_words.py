"""The pieces of code by which programming languages are told apart.

A piece stands under every language that uses it: what several share counts for little, what one has alone
decides. ``^piece`` begins a line and ``piece$`` ends one; what begins or ends with a letter does not go on as
a word there. Text in quotes does not count. Who uses what is general knowledge, checked against 350 programs
in 25 languages and files of other kinds.
"""

from __future__ import annotations

PIECES = {
    "python": (
        "(self ): ):$ += -> .append( .argv .exit( .format( .items( .keys( .split( .strip .strip( 1: :$ "
        'False IndexError KeyError None True TypeError ValueError [::- ]$ ]:$ ^""" ^>>> ^@ ^assert ^async '
        "^class ^def ^elif ^else ^else: ^except: ^from ^global ^import ^left ^print ^try ^try: ^while "
        "^with __init__ __name__ and append( argv await def dict( elif else: enumerate( except exit exit( "
        "import in int int( isinstance( key: lambda len( main( min( not np. open( or pass$ pd. print( "
        "range( re. self. sorted( split( str( strip( sys. try yield zip("
    ),
    "javascript": (
        "!== ${ && 'use (let ({ ); ){$ ++ .addEventListener( .argv .catch( .exit( .exports .filter( "
        ".forEach( .getElementById( .join( .length .log( .map( .push( .querySelector( .reduce( .slice( "
        ".split( .then( .toString( // === => JSON. Math. Number( Promise( Promise. ]; ^const ^else ^let "
        "^process ^var ^while argv async await console. const const{ default die( err) error( exit exit( "
        "false fetch( function if( isNaN( join( let module. new null null; number) number, of parseInt( "
        "process. push( require( return; setTimeout( split split( string throw true typeof undefined var "
        "});"
    ),
    "typescript": (
        "!== ${ && (let ); ** ++ .argv .exit( .filter( .forEach( .join( .length .log( .map( .push( "
        ".slice( .split( .trim( // :string === => ?: Map< Math. Number( Partial< Promise< Record< [] ], "
        "]; ^const ^function ^let ^process any; argv async await boolean boolean; console. const default "
        "enum exit exit( function implements import( import{ interface isNaN( join( keyof let never new "
        "null number number) number, number; number[] parseInt( process. push( readonly split split( "
        "string string) string, string[] this. throw undefined unknown void"
    ),
    "bash": (
        "$( $(( $1 $? $@ $i ${ && -- --help --rm -H -X -d -e -eq -f -ge -gt -it -le -m -n -ne -p -rf -v "
        "-z /dev/null 2>&1 ;; << =$( [[ \\$ ]; ]]; ^#! ^#!/bin/bash ^apt ^apt-get ^awk ^brew ^cargo ^cd "
        "^chmod ^cp ^curl ^data ^do ^docker ^done ^echo ^elif ^esac ^exit ^export ^fi ^find ^git ^grep "
        "^import ^kubectl ^local ^ls ^make ^mkdir ^mv ^namespace ^npm ^npx ^pip ^pnpm ^pytest ^python "
        "^python3 ^rm ^sed ^set ^source ^ssh ^sudo ^tar ^test ^then ^unset ^uv ^wget ^while ^with ^yarn "
        "declare do$ done echo esac fi fi$ in read shift then then$ {}"
    ),
    "sql": (
        "); -- ADD ALL ALTER AND AS ASC BEGIN BETWEEN BY CASE CHECK COLUMN COMMIT CONSTRAINT COUNT( "
        "CREATE DATE DECLARE DEFAULT DELETE DESC DISTINCT DROP ELSE END EXECUTE EXISTS FOREIGN FROM "
        "FUNCTION GROUP HAVING IN INDEX INNER INSERT INTEGER INTO IS JOIN KEY LEFT LIKE LIMIT MAX( NOT "
        "NULL OFFSET ON OR ORDER PRIMARY REFERENCES REPLACE RETURNS SELECT SET SUM( TABLE THEN TRIGGER "
        "UNION UNIQUE UPDATE VALUES VARCHAR VIEW WHEN WHERE WITH ], ^- ^alter ^and ^commit ^create "
        "^delete ^drop ^group ^having ^inner ^insert ^join ^limit ^or ^order ^select ^union ^update bool "
        "cast( char( coalesce( desc distinct echo from in integer is select sum( text timestamp varchar "
        "varchar("
    ),
    "java": (
        "&& (Integer ); ++ += .add( .append( .charAt( .equals( .exit( .get( .isEmpty .isEmpty( .java "
        ".length .length( .out .parseInt( .println( .size .size( .split( .stream( .trim( .valueOf( <> "
        "@Autowired @Override @Test ArrayList< Arrays. Collections. Collectors. Exception HashMap< "
        "Integer Integer. List< Map< Math. Optional< Override Scanner( String String:: StringBuilder "
        "String[] System System. [] ]; ^output ^try ^while abstract args. args[ boolean catch char class "
        "exit exit( extends false final implements instanceof int interface java. long new null out "
        "parseInt( println( private protected public split( static this. throw throws trim( true void"
    ),
    "c": (
        "#define #endif #ifdef #ifndef #include && (void) ); *)( ** *argv[] ++ += <stdio.h> <stdlib.h> "
        "<string.h> EXIT_FAILURE NULL [] ], ]; ^#define ^#include ^else ^while ^{ argc argv atoi( bool "
        "calloc( char char** exit( extern fgets( float fprintf( free( getline( goto int int* isdigit( "
        "long main( malloc( memcpy( printf printf( realloc( scanf( size_t sizeof( stderr stdin strcmp( "
        "strcpy( strlen( strtok( strtol( struct typedef uint32_t uint8_t unsigned void while("
    ),
    "cpp": (
        "#include && ); ++ .at( .begin( .end( .push_back( .size .size( .substr( :: :string << <algorithm> "
        "<iostream> <map> <string> <vector> >> [[ [] ^#include ^const ^namespace ^while argc argv auto "
        "auto& bool cerr char char* cin const const& constexpr cout delete empty( end) endl exit exit( "
        "false float int int& int> long main( map< namespace nullptr operator override private: public: "
        "size_t split( static static_cast< std:: std; stoi( string string& string> struct template trim( "
        "typename unique_ptr< unsigned using vector vector< virtual void while( {} |$"
    ),
    "csharp": (
        '$" && ))) ); ++ += .Add( .Any( .Count .Join( .Length .Linq .Parse( .Select( .ToList( .ToString( '
        ".TryParse( .Where( .Write( .WriteLine( => Console. Convert. Dictionary< IActionResult "
        "IEnumerable< List< List<int> Math. System; Task Task< [] ]; ^foreach ^using ^var ^while ^{ async "
        "await bool catch char decimal false foreach get; int int. int> is nameof( new out override "
        "params partial readonly ref return; sealed set; static string string. string? throw try using "
        "var void while"
    ),
    "go": (
        "*testing. ++ .Args .Errorf( .Exit( .Printf( .Println( .Split( := [] []byte []int []string ], "
        "^func ^import ^import( ^package ^switch ^type ^var append( bool byte chan context. defer die( "
        "err err) err:= err; errors. false float64 fmt. func func( http. int int) int64 interface len( "
        "list log. main( make( map[ nil nil, os. package panic( range rune select sort. strconv. string "
        "string) strings. struct sync. time. true true$ {}"
    ),
    "rust": (
        "#[ &[ &mut &self &str 'static ); += -> .as_str( .chars .chars( .clone( .collect( .expect( "
        ".into_iter( .iter( .len( .map .map( .push( .to_string( .trim( .unwrap( // :: >> ?; Box< Err( "
        "HashMap HashMap< None Ok( Option< Result< Self Some( String String:: Vec:: Vec< ^exit ^let "
        "^output ^struct args( as assert! assert_eq! crate dyn enum env: env:: eprintln! exit exit( f64 "
        "fn format! i32 i64 impl in isize len( let loop main( map match max( mut new next of panic! "
        "print! println! process:: pub push( ref std:: struct trait trim( u32 u64 u8 unwrap_or( use usize "
        "vec!"
    ),
    "php": (
        "$_GET $_POST $argc $argv $i $this $this-> && (count ); ++ .= // <?php === => ?> FALSE PHP_EOL "
        "PHP_EOL; ]; ^$ ^?> ^echo ^exit ^foreach ^function ^{ argv array( array_key_exists( array_map( "
        "array_push( count( declare( echo empty( exit exit( explode( false function implode( intval( "
        "is_numeric( isset( max( new or preg_match( sprintf( str_replace( strlen( throw trim( true void:"
    ),
    "ruby": (
        "#{ += .any? .chars .chomp .downcase .each .each_with_index .empty? .first .freeze .inject .key? "
        ".length .map .new .nil? .reduce .reduce( .select .size .sort .split( .strip .times .to_i .to_s "
        ".to_sym .upto .write( .zip << ARGV Integer Integer( Math. TEXT ]$ ], ^attr_accessor ^attr_reader "
        "^begin ^class ^def ^else ^elsif ^end ^exit ^puts ^raise ^require ^require_relative ^rescue "
        "^unless ^until ^when ^while def do elsif end end$ ensure false foreach( include? it. map nil "
        "nil) nil? number) puts raise rescue split split( true true$ unless yield |$"
    ),
    "html": (
        "); -- --> ... ..< .addEventListener( /> <!-- <!DOCTYPE </ </a </body </div </head </html </li "
        "</p </span </td </tr <a <body <br <button <div <div> <footer <form <h1 <h2 <h3 <head <header "
        "<html <img <input <li <li> <link <meta <nav <ol <p <p> <script <section <span <style <table <td "
        "<td> <th <title <tr <ul alt= and class class= content= document. function( href= id= name= "
        "onclick= rel= src= style= type= window. });"
    ),
    "css": (
        "!important; %; ); -- ::after ::before :after :before :first-child :hover :not( :root @font-face "
        "@keyframes @media ^@ align-items: auto; background-color: background: block; border-bottom: "
        "border-box; border-color: border-left: border-radius: border-top: border: bottom: box-shadow: "
        "box-sizing: calc( color: content: cursor: display: em; flex-direction: flex: flex; float: "
        "font-family: font-size: font-weight: gap: grid: height: inline-block; justify-content: left: "
        "line-height: local margin-bottom: margin-left: margin-right: margin-top: margin: max-width: "
        "min-width: none; number, opacity: open outline: overflow: padding-bottom: padding-left: "
        "padding-right: padding-top: padding: position: px px; rem; rgb( rgba( right: solid string, "
        "text-align: text-decoration: top: transform: transition: user-select: var var( vertical-align: "
        "white-space: width: z-index:"
    ),
    "json": ('": ":[ ":{ ]$ ], ^] ^], ^{ false false$ null, true true, {} },'),
    "yaml": (
        "${{ :$ \\$ ^--- ^build: ^container: ^cp ^echo ^extends: ^extension ^folder: ^id: ^name: ^on: "
        "^run: ^tag: ^uses: branches: description: extension image: jobs: key: name: params: path: ports: "
        "run: services: steps: tests: type: uses: version: with: |$"
    ),
    "toml": (
        '[[ [build-system] [dependencies] [package] [project] [tool. ]$ ^""" ^name ^val ^version '
        "dependencies false false$ package requires val version with"
    ),
    "xml": ("/> <![CDATA[ </ <?xml encoding= version= xmlns xmlns: xsi:"),
    "dockerfile": (
        "&& AS \\$ ^ADD ^ARG ^CMD ^COPY ^ENTRYPOINT ^ENV ^EXPOSE ^FROM ^LABEL ^RUN ^USER ^VOLUME ^WORKDIR"
    ),
    "makefile": (
        "$( $(CC) $(CFLAGS) $(MAKE) $(shell $< $@ $^ += .PHONY .PHONY: := ?= @echo ^.PHONY ^all: ^build: "
        "^clean: ^install: ^test:"
    ),
    "diff": ("^+++ ^--- ^@@ ^diff ^index"),
    "powershell": (
        "$_ $args $false $i $null $this $true ++ += -and -contains -eq -f -ge -gt -in -join -le -lt "
        "-match -ne -not -or -replace -split .Length .Split( :: @( @{ Add-Type ForEach-Object "
        "Get-ChildItem Get-Content Get-Item Import-Module Invoke-WebRequest New-Item New-Object Out-Null "
        "Remove-Item Select-Object Set-Location Show Test-Path Where-Object Write-Error Write-Host "
        "Write-Output Write-Warning [CmdletBinding( [Parameter( [System. [array] [int[]] [int] [string[]] "
        "[string] ]$ ], ^$ ^foreach ^function ^param ^try args. args[ catch elseif( foreach function int "
        "lt not or param( string this. true$ try"
    ),
    "kotlin": (
        "!! ){$ ** .add( .count .first( .forEach .getOrNull( .isNullOrBlank( .joinToString( .length .let "
        ".map .size .split( .toInt .toInt( .toIntOrNull( .toString( .trim( // ?. ?: Array Array< "
        "Array<String> Exception Int Int? List< MutableList< String ^do ^fun ^import ^try ^val ^var ^when "
        "^{ and args. args[ arrayOf( catch companion count( downTo exitProcess( for( fun if( in is it. "
        "kotlin. lateinit listOf( mapOf( mutableListOf( null of override println( readLine( sealed split "
        "split( suspend throw trim( until val var when"
    ),
    "swift": (
        "$0 -> ... ..< .append( .arguments .compactMap .components( .count .first .indices .isEmpty "
        ".joined( .map .split( ?? @State @escaping @objc Array( Bool CommandLine. Double Foundation Int "
        "Int( Int] Self String String( String? SwiftUI UIKit View [Int] \\( ], ^else ^exit ^extension "
        "^func ^guard ^import ^let ^print ^switch ^var ^while enum exit( extension fileprivate final func "
        "guard import in init( init? inout let let$ max( mutating nil nil$ number) override print( "
        "protocol some split split( stride( struct throws try! try? var weak while"
    ),
    "scala": (
        "): .filter .filter( .flatMap( .foldLeft( .head .length .map .map( .mkString( .split( .tail "
        ".toInt .toList :$ :: <- =$ => Array Array[ Array[String] Boolean Either[ Failure( Future[ Int "
        "Int] List[ Map[ Nil None Option. Option[ Seq[ Some Some( String String] Success( Try( Unit "
        'Vector[ [Int] [String] ^""" ^case ^def ^else ^import ^object ^pass ^trait ^val args( args. case '
        "def extends filter foreach implicit lazy main( map match object override parse( println( private "
        "scala. sealed sort trait val when( yield"
    ),
    "dart": (
        "'dart: ); ){$ ++ += .add( .isEmpty .join( .length .parse( .split( .toList( .tryParse( .where( // "
        "?? @override BuildContext Future< List< List<String> List<int> OR String Widget Widget( ]; "
        "^catch ^on ^output ^print ^try ^values args[ async await bool catch catch( const dart: extends "
        "final for( if( int int. late main( new parse( print( required return; setState( try try{ var "
        "void"
    ),
    "r": (
        "%>% %in% ))) ){$ ... 1: <- FALSE NA TRUE Vector [[ ]$ ], ^cat ^library ^while aes( args[ as "
        "as.integer( as.numeric( c( cat( commandArgs( data.frame( df$ ggplot( grepl( if( in invisible( "
        "is.na( lapply( length( library( mean( message( mutate( names( nchar( ncol( nrow( number number) "
        "paste( paste0( quit( read.csv( rep( round( sapply( sep= seq( seq_along( stop( strsplit( sum( "
        "summary( trailingOnly tryCatch( unlist( vector( while with"
    ),
    "julia": (
        "))) .== 1: ARGS Dict( Float64 Int String ^catch ^else ^end ^exit ^function ^mutable ^open "
        "^struct ^try ^using ^while eachindex( end end$ err error( exit exit( function in isa isempty( "
        "length( nothing open( out parse( parse(Int println( push!( split split( string strip( text try "
        "tryparse( using"
    ),
    "lua": (
        "#arg -- ... .concat( .format( .insert( .len( .write( :gmatch( :gsub( :sub( ], ^- ^else ^elseif "
        "^end ^function ^local ^print ^then and arg[ char do do$ elseif end end$ function function( in "
        "input( io. ipairs( local math. nil nil, not open( or pairs( print( require( string string. table "
        "table. then then$ tonumber( tostring( true$ {} ~="
    ),
    "perl": (
        "!~ $# $$ $ARGV[ $_ $i $key $self %$ && (my += -> -m -z =~ @ARGV @_ @{ ARGV ], ]; ^#! "
        "^#!/usr/bin/perl ^1; ^exit ^my ^our ^say ^sub ^use bless chomp( defined elsif eq exit exit; grep "
        "keys map my our push qw( qw/ say scalar( shift; sort split strict; string) string; sub unless "
        "use warnings;"
    ),
    "haskell": (
        "$$ (x:xs) ++ -- -> :: <$> <*> <- => >> >>= Bool Control. Data. Either Eq False IO Int Int] Just "
        "Left Map. Maybe Monad Nothing Ord Right String System System. True [Int] [String] [] ]$ ^- ^case "
        "^data ^else ^go ^import ^in ^insert ^let ^main ^module ^then ^type ^where ^| case data deriving "
        "do do$ filter fmap foldl foldr getArgs import in instance let lines list map mapM_ mod module "
        "newtype of otherwise putStr putStrLn qualified readMaybe show unwords where where$ {-"
    ),
    "fsharp": (
        '$" -> .Length .Split( .Trim( .TryParse( .map <- =$ Array. Environment. Error Int32. Int64 List. '
        "None Ok Ok( Result. Seq. Some String( String. System [<EntryPoint>] [] ]$ ^elif ^else ^function "
        "^let ^match ^module ^open ^repeat ^type ^while ^| ^|> argv async failwith false false, fun "
        "function int int64 let map match module mutable open printfn private rec seq string string) then "
        "then$ true true$ true, unit when with with$ yield |>"
    ),
    "elixir": (
        "%{ &( &1 (System (fn (str ({ ))) -> .argv .argv( .each .join( .map .map( .new .parse( .puts( "
        ".reduce .reduce( .split( .write( :: :error :ok <- <> @doc @moduledoc @spec Enum. GenServer IO "
        'IO. IO.puts Integer Integer. List. Map. Stream String String. System System. [] ], ^""" ^@ '
        "^alias ^case ^def ^defmodule ^defp ^else ^end ^with ^{ ^| ^|> argv case cond def defmodule defp "
        "do do$ do: end end$ end) error fn hd( in integer is_integer( list list( main( map math. number) "
        "number, of or parse( puts split split( string, tl( true$ when with {: {:error {:ok |> ~r/"
    ),
    "clojure": (
        "(-> (->> (:require (= (and (catch (cond (conj (count (def (defn (defn- (empty? (first (if (let[ "
        "(loop (map (not (ns (or (println (recur (reduce (require (rest (str (try (when ))) :as :keys "
        ":refer [] ]$ and and$ case class def error is mod not of require string"
    ),
    "terraform": (
        "^locals ^output ^provider ^resource ^terraform ^variable data. default local. module provider "
        "resource var. variable"
    ),
    "latex": (
        "\\begin{ \\cite{ \\documentclass \\end{ \\frac{ \\item \\label{ \\section{ \\textbf{ \\usepackage{"
    ),
}
