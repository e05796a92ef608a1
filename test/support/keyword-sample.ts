export interface SampleText {
  readonly name: string;
  /** The PostgreSQL configuration that it is to be stemmed by. */
  readonly language: string;
  readonly text: string;
}

export interface SampleQuestion {
  readonly question: string;
  /** Name of the text that must come first. */
  readonly best: string;
}

/** Short texts of an invented company, close enough to each other that only the right words tell them apart. */
export const sampleTexts: readonly SampleText[] = [
  {
    name: 'en-leave',
    language: 'english',
    text: 'Employees request annual leave in the portal at least two weeks before the first day. The team leader approves or refuses the request within three working days, and unused days are carried over until the end of March.',
  },
  {
    name: 'en-pumps',
    language: 'english',
    text: 'Before the cooling pumps are serviced, the supply has to be disconnected and the pressure released. Worn seals are replaced every two years; vibrations above seven millimetres per second mean that a bearing is failing.',
  },
  {
    name: 'en-it',
    language: 'english',
    text: 'For a forgotten password call IT on extension 4711. They will ask for your staff number and send a new password to your private phone. Nobody from IT will ever ask you to read a password aloud.',
  },
  {
    name: 'en-travel',
    language: 'english',
    text: 'Trains are booked in second class for journeys below four hours. Taxis are refunded after ten in the evening and when heavy equipment is carried. Receipts must reach accounting within thirty days of the journey.',
  },
  {
    name: 'de-urlaub',
    language: 'german',
    text: 'Urlaubsanträge werden spätestens zwei Wochen vor dem ersten Urlaubstag im Portal gestellt. Die Vorgesetzten genehmigen oder lehnen sie innerhalb von drei Arbeitstagen ab, und nicht genommene Tage verfallen Ende März.',
  },
  {
    name: 'de-pumpen',
    language: 'german',
    text: 'Vor der Wartung der Kühlpumpen muss die Stromversorgung getrennt und der Druck abgelassen werden. Abgenutzte Dichtungen werden alle zwei Jahre ersetzt, und starke Schwingungen weisen auf ein defektes Lager hin.',
  },
  {
    name: 'de-garantie',
    language: 'german',
    text: 'Die Garantie für Bohrmaschinen beträgt drei Jahre ab dem Kauf. Schäden durch Feuchtigkeit oder unsachgemäße Reparaturen sind ausgeschlossen. Der Kassenbeleg ist vorzulegen, eine Kopie genügt.',
  },
  {
    name: 'fr-conges',
    language: 'french',
    text: 'Les congés doivent être demandés sur le portail au moins deux semaines avant le premier jour. Le responsable accepte ou refuse les demandes dans un délai de trois jours, et les journées non prises sont perdues à la fin du mois de mars.',
  },
  {
    name: 'es-facturas',
    language: 'spanish',
    text: 'Las facturas de los proveedores se pagan antes de fin de mes, siempre que el departamento de compras haya confirmado la entrega. Los descuentos por pronto pago se aprovechan cuando superan el dos por ciento.',
  },
  {
    name: 'ru-otpusk',
    language: 'russian',
    text: 'Заявления на отпуск подаются на портале не позднее чем за две недели до первого дня. Руководитель утверждает их в течение трёх рабочих дней, а неиспользованные дни сгорают в конце марта.',
  },
  {
    name: 'ru-nasosy',
    language: 'russian',
    text: 'Перед обслуживанием охлаждающих насосов необходимо отключить питание и сбросить давление. Изношенные уплотнения заменяются каждые два года, а сильная вибрация указывает на неисправный подшипник.',
  },
  {
    name: 'ar-ijaza',
    language: 'arabic',
    text: 'يقدم الموظفون طلبات الإجازة السنوية عبر البوابة قبل أسبوعين على الأقل من اليوم الأول. يوافق المدير على الطلب أو يرفضه خلال ثلاثة أيام عمل، وتلغى الأيام غير المستخدمة في نهاية شهر مارس.',
  },
  {
    name: 'ar-fawatir',
    language: 'arabic',
    text: 'تدفع فواتير الموردين قبل نهاية الشهر بشرط أن يؤكد قسم المشتريات استلام البضائع. ترسل الفواتير المرفوضة مع بيان السبب إلى المورد في اليوم نفسه.',
  },
  {
    name: 'zh-hans-nianjia',
    language: 'simple',
    text: '员工应至少提前两周在系统中申请年假，部门经理须在三个工作日内批准或者拒绝。当年没有用完的年假可以保留到第二年三月底，逾期作废。',
  },
  {
    name: 'zh-hans-shuibeng',
    language: 'simple',
    text: '冷却水泵保养之前必须切断电源并释放压力。磨损的密封圈每两年更换一次，振动过大说明轴承即将损坏，应立即停机检查。',
  },
  {
    name: 'zh-hant-baoxiu',
    language: 'simple',
    text: '電鑽自購買日起保固三年，因受潮或不當維修造成的損壞不在保固範圍內。送修時請附上發票，影本亦可。',
  },
  {
    name: 'zh-hant-chucha',
    language: 'simple',
    text: '四小時以內的行程搭乘高鐵標準車廂。晚上十點以後或攜帶重型設備時可以搭乘計程車，收據應於行程結束後三十天內送交會計部門。',
  },
  {
    name: 'ja-kyuka',
    language: 'simple',
    text: '年次有給休暇は、取得日の二週間前までにポータルで申請してください。上司は三営業日以内に承認または却下します。未使用の休暇は翌年三月末に失効します。',
  },
  {
    name: 'ja-pompu',
    language: 'simple',
    text: '冷却ポンプを点検する前に、必ず電源を切り、圧力を抜いてください。摩耗したシールは二年ごとに交換します。振動が大きい場合はベアリングの故障が考えられます。',
  },
  {
    name: 'ko-hyuga',
    language: 'simple',
    text: '연차 휴가는 시작일 이 주 전까지 포털에서 신청해야 합니다. 팀장은 영업일 기준 사흘 안에 휴가를 승인하거나 반려하며, 사용하지 않은 연차는 이듬해 삼월 말에 소멸됩니다.',
  },
  {
    name: 'ko-pompeu',
    language: 'simple',
    text: '냉각 펌프를 정비하기 전에 반드시 전원을 차단하고 압력을 빼야 합니다. 마모된 패킹은 이 년마다 교체하며, 진동이 심하면 베어링 고장을 의심해야 합니다.',
  },
  {
    name: 'th-laphak',
    language: 'simple',
    text: 'พนักงานต้องยื่นใบลาพักร้อนในระบบล่วงหน้าอย่างน้อยสองสัปดาห์ หัวหน้าทีมจะอนุมัติหรือปฏิเสธภายในสามวันทำการ วันลาที่ไม่ได้ใช้จะหมดอายุในสิ้นเดือนมีนาคม',
  },
  {
    name: 'th-pum',
    language: 'simple',
    text: 'ก่อนซ่อมบำรุงปั๊มน้ำหล่อเย็นต้องตัดกระแสไฟและปล่อยแรงดันออก ซีลที่สึกหรอให้เปลี่ยนทุกสองปี ถ้าเครื่องสั่นแรงแสดงว่าตลับลูกปืนกำลังจะเสีย',
  },
  {
    name: 'code-retry',
    language: 'english',
    text: 'export async function fetchWithRetry(url, maxAttempts) {\n  const retryDelay = config.http.retryDelay;\n  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {\n    const response = await client.get(url);\n    if (response.status < 500) return response;\n    await sleep(retryDelay * attempt);\n  }\n}',
  },
  {
    name: 'code-users',
    language: 'english',
    text: 'def find_user_by_email(session, email_address):\n    """Returns the user with this address, or None."""\n    query = select(User).where(User.email_address == email_address.lower())\n    return session.execute(query).scalar_one_or_none()',
  },
];

/** In other forms and other words around them than the texts, as people ask. */
export const sampleQuestions: readonly SampleQuestion[] = [
  { question: 'How do I request leave, and who is approving it?', best: 'en-leave' },
  { question: 'replacing a worn seal', best: 'en-pumps' },
  { question: 'the bearing vibrates', best: 'en-pumps' },
  { question: 'IT', best: 'en-it' },
  { question: 'I have forgotten my passwords', best: 'en-it' },
  { question: 'Is the taxi refundable at night?', best: 'en-travel' },
  { question: 'Wer genehmigt meinen Urlaubsantrag?', best: 'de-urlaub' },
  { question: 'Wann muss die Dichtung der Kühlpumpe ersetzt werden?', best: 'de-pumpen' },
  { question: 'Schaden durch unsachgemäße Reparatur', best: 'de-garantie' },
  { question: 'Comment demander un congé au responsable ?', best: 'fr-conges' },
  { question: '¿Cuándo se paga una factura del proveedor?', best: 'es-facturas' },
  { question: 'Кто утверждает заявление на отпуск?', best: 'ru-otpusk' },
  { question: 'замена изношенного уплотнения насоса', best: 'ru-nasosy' },
  { question: 'متى تلغى أيام الإجازات', best: 'ar-ijaza' },
  { question: 'دفع فاتورة المورد', best: 'ar-fawatir' },
  { question: '年假没用完怎么办？', best: 'zh-hans-nianjia' },
  { question: '轴承损坏有什么表现', best: 'zh-hans-shuibeng' },
  { question: '電鑽的保固期有多久', best: 'zh-hant-baoxiu' },
  { question: '什麼時候可以搭計程車', best: 'zh-hant-chucha' },
  { question: '有給休暇の申請はいつまでですか', best: 'ja-kyuka' },
  { question: 'ポンプのシール交換', best: 'ja-pompu' },
  { question: '휴가 신청은 언제까지 하나요?', best: 'ko-hyuga' },
  { question: '펌프의 패킹 교체 주기', best: 'ko-pompeu' },
  { question: 'ลาพักร้อนต้องยื่นล่วงหน้ากี่วัน', best: 'th-laphak' },
  { question: 'เปลี่ยนซีลปั๊มน้ำเมื่อไร', best: 'th-pum' },
  { question: 'fetch_with_retry', best: 'code-retry' },
  { question: 'http.retryDelay', best: 'code-retry' },
  { question: 'where is the delay between retries configured?', best: 'code-retry' },
  { question: 'findUserByEmail', best: 'code-users' },
  { question: 'find a user by mail or email address', best: 'code-users' },
];
