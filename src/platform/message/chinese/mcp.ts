export const mcp = {
  'The tool': '工具',
  'must begin with a letter and have only letters, digits, _ and -':
    '必须以字母开头，且只能包含字母、数字、_ 和 -',
  'must be an address that begins with https:// or http://':
    '必须是以 https:// 或 http:// 开头的地址',
  'There is a tool server named {0} already. Choose another name.':
    '已有名为 {0} 的工具服务器。请换一个名称。',
  'headers must be an object of header names and texts, without line feeds, at most 20. Host, Content-Type, Accept and headers that begin with Mcp- are set by Plinth.':
    'headers 必须是由请求头名称和文本组成的对象，最多 20 个，不能包含换行。Host、Content-Type、Accept 以及以 Mcp- 开头的请求头由 Plinth 设置。',
  '{0} is missing. Enter it, also after a change of the server’s address.':
    '缺少 {0}。请填写；更改服务器地址后也需要重新填写。',
  'The tool server {0} cannot be used: {1}': '工具服务器 {0} 无法使用：{1}',
  'it answered: {0}': '它的回答是：{0}',
  'The tool server {0} is disabled. Ask one who manages it to enable it.':
    '工具服务器 {0} 已停用。请联系其管理者启用。',
  'The tool {0} of the server {1} has changed since it was accepted, or is no longer listed. One who may change the tool server must accept it first.':
    '服务器 {1} 的工具 {0} 在被接受之后已更改，或已不再列出。需要由有权更改该工具服务器的人先接受它。',
  'The tool {0} must not be called: its consent is never.': '工具 {0} 不能被调用：其许可为 never。',
  'The tool {0} has changed again. Reload it, and compare the texts.':
    '工具 {0} 又有更改。请重新加载并比较文本。',
  'The account': '账号',
  'The authorization server cannot be used: {0}.': '无法使用授权服务器：{0}。',
  'the tool server names none with metadata (RFC 9728, RFC 8414)':
    '工具服务器未指明带有元数据的授权服务器（RFC 9728、RFC 8414）',
  'the metadata of the tool server is that of another resource, {0}':
    '工具服务器的元数据属于另一个资源 {0}',
  'it has no metadata any more': '它已不再提供元数据',
  'it registers no clients. Register Plinth there by hand, and enter the client id':
    '它不支持客户端注册。请在那里手动注册 Plinth，然后填写客户端 ID',
  'it refuses to register Plinth (HTTP {0}). Register Plinth there by hand, and enter the client id':
    '它拒绝注册 Plinth（HTTP {0}）。请在那里手动注册 Plinth，然后填写客户端 ID',
  'it does not support PKCE (S256)': '它不支持 PKCE（S256）',
  'its tokens are no bearer tokens': '它的令牌不是 bearer 令牌',
  'Your account of the tool server {0} is not connected. Connect it at {1}':
    '您尚未连接工具服务器 {0} 的账号。请在此连接：{1}',
  'The tool server {0} is not connected to an account. One who may change it must connect it at {1}':
    '工具服务器 {0} 尚未连接账号。需要由有权更改它的人在此连接：{1}',
  'The account of the tool server {0} is being renewed. Try again.':
    '工具服务器 {0} 的账号正在续期。请重试。',
  'The tool server {0} now names the authorization server {1}. If that is right, enter client id and secret again.':
    '工具服务器 {0} 现在指明的授权服务器是 {1}。如果正确，请重新填写客户端 ID 和密钥。',
  'account client needs clientId and clientSecret. Enter both.':
    'account 为 client 时需要 clientId 和 clientSecret。请填写两者。',
};
