/**
 * The commonest function words of languages, by script and ISO 639-3. They are a third of a running text, and few of
 * them are shared between languages, so that a handful of words tells a language.
 */
export const FUNCTION_WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  latin: {
    cat: 'a al als amb aquest aquesta com d de del dels des el els en entre es ha i l la les més no o pel pels per però que seva són també un una va és',
    ces: 'a aby ale by byl bylo byly být do i jako je jeho jen jsou k která které který lze může na nebo není o od po podle pokud pro při s se tak také to už v ve z za že',
    dan: 'af at blev de den denne der det dette efter eller en er et for fra han har hvor i ikke kan med men mere når og også om over på sig skal som til ud ved vil være',
    deu: 'aber als am an auch auf aus bei bis das dass dem den der des die durch ein eine einem einen einer es für hat haben ich im in ist kann kein keine man mit nach nicht noch nur oder sein sich sie sind um und von vor war wenn werden wie wir wird wurde zu zum zur über',
    eng: 'all an and are as at be been but by can for from has have how if in into is it its may more must no not of on one or other should than that the their there these they this to was we were what when which will with would you your',
    fin: 'ei ennen että hän hänen ja jos joka jotka kanssa kuin kun mukaan mutta myös niin nyt oli olla on ovat se sekä sen sitä tai tämä tämän vain voi',
    fra: 'au aux avec c ce cette comme d dans de des deux du elle en est et fait il l la le les leur lui mais n ne nous on ont ou par pas peut plus pour qu que qui sa se ses son sont sur un une vous à été être où',
    hun: 'a az azt be csak de egy ez ezt fel ha hogy is kell ki lehet majd meg mert mint most már még nagyon nem pedig szerint több után vagy van volt által és',
    ind: 'ada adalah akan anda atau bahwa bisa dalam dan dapat dari dengan di hanya harus ini itu juga karena ke lebih mereka oleh pada saat sebagai secara seperti setelah telah tersebut tidak untuk yang',
    ita: 'a al alla anche che come con d da dal dalla degli dei del della delle di e ed essere fra gli ha i il in l la le lo loro ma nel nella non o per più se si sono stato su sua sul suo tra un una è questo questa',
    nld: 'aan als bij dan dat de deze die dit door een en er geen had hebben heeft het hij in is je kan maar meer met moet naar niet nog of om ook op over te tot u uit van voor was wat wel werd wordt worden ze zijn zo',
    nob: 'av ble de den denne det dette eller en er et etter for fra han har hvor i ikke ingen jeg kan med men mer må når nå og også om over på seg skal som til ut ved vil være å',
    pol: 'a być był co dla do i ich jak jako jego jest która które który lub ma może na nie o od oraz po przez przy się są to tylko tym w z za że należy',
    por: 'a ao aos as até com como da das de depois do dos e ele em entre era está foi isso já mais mas mesmo muito na nas no nos não o os ou para pela pelo pode por quando que se sem ser seu sua são também tem um uma você à é',
    ron: 'a acest această al ar au ca care ce cel cu cum când către dacă dar de din dintre doar după ei este fi fie fost iar la le lor lui mai nu o pe pentru poate prin sau se sunt să un unei unui în între și şi',
    slk: 'a aby ako ak ale alebo bol bolo by do i je jeho k ktorá ktoré ktorý len môže na nie o od po podľa pre pri s sa sú tak tiež to už v vo z za že',
    spa: 'a al como con cuando cuál cómo de del desde donde dos el en entre era es esta este está fue ha hasta hay la las le lo los muy más no o para pero por puede que qué se ser sin sobre son su sus también un una y',
    srp: 'ako ali bi bio biti da do i ili iz je jer kako kao koja koje koji može na nakon ne nije o od ovo po prema sa samo se su svoje u za što već',
    swe: 'alla att av de den denna det detta du där efter eller en ett från för hade han har i inte kan med men måste nu när och också om på ska sig som så till under var vi vid är',
    tur: 'ama ancak bir bu bulunan da daha de değil en gibi göre hangi her ile ise için kadar mi ne o olan olarak olduğu olduğunu sonra tarafından tüm var ve veya ya yok çok şu',
    vie: 'bị cho các có của cũng không khi là một người những nhưng như này năm phải ra theo trong trên từ tại với vào và về đã đó được để đến',
  },
  cyrillic: {
    bel: 'або ад але быў было гэта да для за калі на не па пры таксама у ці што як які яна ён і ў',
    bul: 'бъде в до е за и или има като към може на не но от по при с са се след това той което които който ще още',
    rus: 'был было быть в все для до его если же за и из или к как которые который может можно на не но о он она они от по при с так также только у что это',
    srp: 'ако али био бити да до за и из или је како као која који на након не није о од по са само се су у што',
    ukr: 'або але бути був було в вона вони від він для до за його з й із лише може на не при під та також у це що як який які якщо і є',
  },
  arabic: {
    arb: 'أن أو إلى التي الذي بعد بين على عن في قبل كان كل لا ما مع من هذا هذه',
    pes: 'آن از است این با بر برای به در را شده شود می هر که یا یک',
    urd: 'اور ایک بھی سے میں نے پر کا کو کہ کی کے ہیں ہے یہ',
  },
  devanagari: {
    hin: 'एक और का कि की के को ने पर भी में यह से है हैं',
    mar: 'आणि आहे आहेत च्या तर नाही या ला व हे होते',
    npi: 'का को गर्न छ छन् पनि भने मा यो र लाई',
  },
};
