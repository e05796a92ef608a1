export const web = {
  'The search provider': '搜索服务',
  'A tenant can have at most {0} search providers. Remove one first.':
    '一个租户最多可有 {0} 个搜索服务。请先删除一个。',
  'Enter the address of your SearXNG, such as https://search.example.com.':
    '请输入您的 SearXNG 地址，例如 https://search.example.com。',
  '{0} needs an API key. Enter apiKey.': '{0} 需要 API 密钥。请填写 apiKey。',
  'Enter the API key of this address, too: a stored key is sent to its own address only.':
    '请同时输入此地址的 API 密钥：已保存的密钥只会发送到其原来的地址。',
  'The web cannot be searched: no search provider is enabled. An administrator can add and enable one.':
    '无法搜索网络：没有启用的搜索服务。管理员可以添加并启用一个。',
  'None of the engines of SearXNG has answered: they may be blocked or ask for a captcha. Check its page of engine statistics.':
    'SearXNG 的搜索引擎均未应答：它们可能被屏蔽或要求验证码。请查看其引擎统计页面。',
  'SearXNG answers no JSON. Add json to search.formats in its settings.yml.':
    'SearXNG 不返回 JSON。请在其 settings.yml 的 search.formats 中加入 json。',
  'The search service asks for a captcha instead of answering. Search less often, or use another provider.':
    '搜索服务要求验证码而没有应答。请降低搜索频率，或使用其他服务。',
  'The search service answered with a page instead of JSON. Check its address.':
    '搜索服务返回了网页而不是 JSON。请检查其地址。',
  'The search service answered something that is no list of results. Check its address and kind.':
    '搜索服务的应答不是结果列表。请检查其地址和类型。',
  'The search service has had too many requests. Try again later.':
    '对搜索服务的请求过多。请稍后重试。',
  'The search service answered with status {0}. Check its address, or try again later.':
    '搜索服务返回状态 {0}。请检查其地址，或稍后重试。',
  'The search service refuses the API key. Enter another one.':
    '搜索服务拒绝了 API 密钥。请输入其他密钥。',
  'The searches of the plan at the search service are used up. Add credits there, or use another provider.':
    '搜索服务套餐的搜索次数已用完。请在该服务充值，或使用其他服务。',
  'The page has no text: it may need a browser or a sign-in. Use another page.':
    '该页面没有文本：它可能需要浏览器或登录。请使用其他页面。',
  'The page is redirected too often. Use another page.': '该页面重定向次数过多。请使用其他页面。',
  'The site does not allow programs to read this page (robots.txt). Use another page.':
    '该网站不允许程序读取此页面（robots.txt）。请使用其他页面。',
  'The page answered with status {0}. Check the address, or use another page.':
    '该页面返回状态 {0}。请检查地址，或使用其他页面。',
};
