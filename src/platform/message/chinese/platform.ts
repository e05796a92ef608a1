export const platform = {
  'The schedule is not valid. cron has five fields, such as 0 6 * * 1-5, and timeZone is a name such as Europe/Berlin.':
    '计划无效。cron 有五个字段，例如 0 6 * * 1-5；timeZone 是时区名称，例如 Europe/Berlin。',
  ' {0}': '{0}',
  ', {0}': '；{0}',
  'The form could not be read: {0}. Send it again as multipart/form-data.':
    '无法读取表单：{0}。请以 multipart/form-data 重新发送。',
  '{0} must be 0 or at least {1}': '{0} 必须为 0，或至少为 {1}',
  'No valid API key was sent, or the sign-in has ended. Send a key of Plinth as Authorization: Bearer sk-plinth-… or as x-api-key, api-key or x-goog-api-key, or sign in again.':
    '没有发送有效的 API 密钥，或登录已结束。请以 Authorization: Bearer sk-plinth-… 或 x-api-key、api-key、x-goog-api-key 发送 Plinth 的密钥，或重新登录。',
  'You need the permission {0}. Ask an administrator for it.': '您需要权限 {0}。请联系管理员授予。',
  'This API key is limited to chosen {0} and cannot change others. Use a key without this limit, or sign in.':
    '此 API 密钥仅限于所选的{0}，不能更改其他的。请使用没有此限制的密钥，或登录后操作。',
  'API keys cannot be used for this. Sign in instead.': '此处不能使用 API 密钥。请登录后操作。',
  'This API key lacks the permission {0}. Add it to the key, or use another key.':
    '此 API 密钥没有权限 {0}。请将其加入密钥，或使用其他密钥。',
  'You also need the permission {0}. Ask an administrator for it.':
    '您还需要权限 {0}。请联系管理员授予。',
  'You are not signed in, or the sign-in has ended. Sign in again.':
    '您尚未登录，或登录已结束。请重新登录。',
  'You are not allowed to do this. Ask an administrator for the permission.':
    '您没有权限执行此操作。请联系管理员授予权限。',
  '{0} has changed since you opened it. Compare the changes, then save again.':
    '{0}在您打开后已被他人修改。请比较更改后再次保存。',
  'rules must be a list': 'rules 必须是列表',
  'rules has more than {0} entries': 'rules 的条目超过 {0} 个',
  'each entry of rules must be an object': 'rules 的每个条目必须是对象',
  'Records of the class {0} must be kept for at least {1} days.':
    '类别 {0} 的记录必须至少保留 {1} 天。',
  'Records of the class {0} can be kept for {1} to {2} days.':
    '类别 {0} 的记录可保留 {1} 至 {2} 天。',
  "There can be only one rule for the class {0}, and none of a user's own for calls and the audit log.":
    '类别 {0} 只能有一条规则；用户不能为调用和审计日志设置自己的规则。',
  'All chats of your tenant are temporary. Leave out temporary, or send true.':
    '您的租户的所有对话都是临时对话。请省略 temporary 或发送 true。',
  'Your tenant allows no temporary chats. Leave out temporary, or send false.':
    '您的租户不允许临时对话。请省略 temporary 或发送 false。',
  'The legal hold': '法律保留',
  'The records of {0} are under legal hold and cannot be deleted or changed. Ask an administrator to lift the hold.':
    '{0} 的记录处于法律保留状态，无法删除或更改。请让管理员解除保留。',
  '{0} was not found. It may have been deleted.': '未找到{0}，可能已被删除。',
  'The disk of the database is full. Ask an administrator to free space on it; no restart is needed then.':
    '数据库的磁盘已满。请让管理员在其上释放空间；之后无需重启。',
  'The disk of the database fails. Ask an administrator to check it.':
    '数据库的磁盘出现故障。请让管理员检查。',
  'The database has no memory left. Try again later, or ask an administrator to give it more.':
    '数据库内存不足。请稍后再试，或让管理员为其增加内存。',
  'The database takes no more connections. Ask an administrator to raise max_connections, or to lower DATABASE_POOL_SIZE.':
    '数据库不再接受新的连接。请让管理员调高 max_connections，或调低 DATABASE_POOL_SIZE。',
  '{0} is not available at the moment. Try again in a few seconds.':
    '{0}暂时不可用。请几秒后再试。',
  '{0} does not take {1}. Use {2}.': '{0} 不支持 {1}。请使用 {2}。',
  'There is no {0} {1}.': '不存在 {0} {1}。',
  'The uploaded file is too large.': '上传的文件过大。',
  'Something went wrong on our side. Try again. If it happens again, report request {0}.':
    '服务出错了。请重试；如果再次出现，请提供请求编号 {0}。',
  'Too many requests. Try again in {0} seconds.': '请求过于频繁。请 {0} 秒后再试。',
  'The request body is too large. This route reads {0} KiB at most. Send less at once.':
    '请求体过大。此接口最多读取 {0} KiB。请减少每次发送的内容。',
  'The request body is not readable JSON.': '请求体不是可读取的 JSON。',
  'Too many large requests at the same time. Try again in {0} second.':
    '同时进行的大请求过多。请 {0} 秒后再试。',
  'The request body did not arrive: {0} seconds without data. Send the request again.':
    '请求体未到达：{0} 秒内没有数据。请重新发送请求。',
  'The request body holds too many values. Send less at once.':
    '请求体包含的值过多。请减少每次发送的内容。',
  'Done.': '操作成功。',
  'Too many exports at the same time. Try again in {0} seconds.':
    '同时进行的导出过多。请 {0} 秒后再试。',
  '{0} must be text': '{0} 必须是文本',
  '{0} must have at least {1} characters': '{0} 至少需要 {1} 个字符',
  '{0} must have at most {1} characters': '{0} 最多允许 {1} 个字符',
  '{0} must be a whole number': '{0} 必须是整数',
  '{0} must be at least {1}': '{0} 不能小于 {1}',
  '{0} must be at most {1}': '{0} 不能大于 {1}',
  '{0} must be a number': '{0} 必须是数字',
  '{0} must be one of {1}': '{0} 必须是以下之一：{1}',
  '{0} must be 0 (enabled) or 1 (disabled)': '{0} 必须是 0（启用）或 1（停用）',
  '{0} must be 0 or 1': '{0} 必须是 0 或 1',
  '{0} must be true or false': '{0} 必须是 true 或 false',
  '{0} must be an object': '{0} 必须是对象',
  '{0} must be a list': '{0} 必须是列表',
  '{0} has too many entries': '{0} 的条目过多',
  'each entry of {0} must be text': '{0} 的每一项都必须是文本',
  'an entry of {0} is too long': '{0} 中有一项过长',
  '{0} must be a list of ids': '{0} 必须是 id 列表',
  '{0} has more than {1} entries': '{0} 超过 {1} 项',
  'each entry of {0} must be an id': '{0} 的每一项都必须是 id',
  '{0} is required': '{0} 为必填项',
  '{0} must not contain the NUL character': '{0} 不能包含 NUL 字符',
  '"{0}" is not an id. An id is a whole number.': '“{0}”不是 id。id 是整数。',
  'The path must not contain the character NUL.': '路径不能包含 NUL 字符。',
  'The request body holds more than {0} values.': '请求体包含超过 {0} 个值。',
  'The request body is nested more than {0} levels deep. Send it in a flatter form.':
    '请求体嵌套超过 {0} 层。请使用层次更少的结构。',
  'An object of the request body has more than {0} fields.': '请求体中有一个对象超过 {0} 个字段。',
  'isAsc must name one direction, or one for each field of orderByColumn.':
    'isAsc 必须给出一个方向，或为 orderByColumn 的每个字段各给出一个。',
  'orderByColumn must be a comma list of these fields: {0}':
    'orderByColumn 必须是由以下字段组成的逗号列表：{0}',
  'isAsc must be asc or desc.': 'isAsc 必须是 asc 或 desc。',
  '{0}: unknown here, so nothing was done. The fields are {1}. Remove or correct what is unknown':
    '{0}：未知字段，未执行任何操作。可用的字段：{1}。请去掉或更正未知字段',
  '{0}: unknown here, so nothing was done. This request has no fields. Send it without a body':
    '{0}：未知字段，未执行任何操作。此请求没有字段，请不带请求体发送',
  '{0}: there is no {1}.': '{0}：不存在 {1}。',
  'Entries of the audit log cannot be deleted. They are deleted with their tenant.':
    '审计日志不能删除。它们随租户一起删除。',
  'params must be params[beginTime] and params[endTime]':
    'params 必须是 params[beginTime] 和 params[endTime]',
  'The file is not an .xlsx workbook, or it is damaged. Save it again as .xlsx and upload that.':
    '该文件不是 .xlsx 工作簿，或已损坏。请重新保存为 .xlsx 后上传。',
  'The workbook is too large. Split it, and remove sheets that are not needed.':
    '工作簿过大。请拆分，并删除不需要的工作表。',
  'The request has more than one Host header. Send one.':
    '请求包含多个 Host 请求头。请只发送一个。',
  'Plinth is stopping. Try again in a moment.': 'Plinth 正在停止。请稍后再试。',
  'Remove it; enter the key in its own field.': '请将其移除；密钥请填写在专门的字段中。',
  'Remove the # and what follows.': '请去掉 # 及其后的内容。',
  'Use the default port.': '请使用默认端口。',
  'Enter one such as https://api.example.com/v1.': '请输入形如 https://api.example.com/v1 的地址。',
  'Enter an http or https address.': '请输入 http 或 https 地址。',
  'Remove it.': '请将其移除。',
  'The service answered with a redirect ({0}){1}, which is not followed. Enter its final address.':
    '服务返回了重定向（{0}）{1}，不会跟随。请输入最终地址。',
  'Enter the public address of the service.': '请输入服务的公网地址。',
  'This address is refused ({0}). {1}': '该地址被拒绝（{0}）。{1}',
  'This address is refused ({0}). An operator can allow it with {1}: its CIDR, its host name, or *.':
    '该地址被拒绝（{0}）。运维人员可通过 {1} 允许：填写其 CIDR、主机名或 *。',
  'The service could not be reached. Check its address and that it is running.':
    '无法连接服务。请检查地址以及服务是否在运行。',
  'The host name of the service could not be resolved. Check the address.':
    '无法解析服务的主机名。请检查地址。',
  'The service’s certificate could not be verified. Check the address and the certificate.':
    '无法验证服务的证书。请检查地址和证书。',
  'The certificate was issued by an unknown authority. If the service has its own, or a proxy inspects TLS, set OUTBOUND_CA_FILE to the certificate of that authority.':
    '证书由未知的机构签发。如果服务使用自有机构，或代理会检查 TLS，请将 OUTBOUND_CA_FILE 设置为该机构的证书。',
  'The proxy could not be used. Check HTTPS_PROXY and HTTP_PROXY.':
    '无法使用代理。请检查 HTTPS_PROXY 和 HTTP_PROXY。',
  'The proxy asks for credentials (407). Check {0}.': '代理要求身份验证（407）。请检查 {0}。',
  'The proxy refused to connect to the service ({0}). Check the address, and whether the proxy of {1} allows it.':
    '代理拒绝连接服务（{0}）。请检查地址，以及 {1} 的代理是否允许该地址。',
  'The certificate of the proxy could not be verified. Check {0}, and set OUTBOUND_CA_FILE to its certificate authority.':
    '无法验证代理的证书。请检查 {0}，并将 OUTBOUND_CA_FILE 设置为其证书机构。',
  'The proxy could not be reached. Check {0} and that the proxy is running.':
    '无法连接代理。请检查 {0} 以及代理是否在运行。',
  'This address is refused ({0}). An operator can allow its host with {1}.':
    '该地址被拒绝（{0}）。运维人员可通过 {1} 允许其主机。',
  'Connecting to the service timed out. Check its address, or try again.':
    '连接服务超时。请检查地址，或重试。',
  'The service sent nothing for too long. Try again.': '服务过久没有发送数据。请重试。',
  'The service took too long to answer. Try again, or ask for less.':
    '服务响应耗时过长。请重试，或减少要求。',
  'The service closed the connection. Try again.': '服务关闭了连接。请重试。',
  'The call was cancelled.': '调用已取消。',
  'The service answered with a redirect, which is not followed. Enter its final address.':
    '服务返回了重定向，不会跟随。请输入最终地址。',
  'The service’s answer is too large. Ask for less.': '服务的响应过大。请减少要求。',
  'The answer was not HTTP. Check the address and whether it needs https.':
    '响应不是 HTTP。请检查地址以及是否需要 https。',
  'The request cannot be sent. Check the address and the API key for stray characters.':
    '无法发送请求。请检查地址和 API 密钥中是否有多余字符。',
  'The file is larger than {0}, which is the limit. Upload a smaller one.':
    '文件超过上限 {0}。请上传较小的文件。',
  'The file is part of another record, such as a document of a knowledge base or a chat message. Delete that record instead.':
    '该文件属于其他记录，例如知识库的文档或聊天消息。请改为删除那条记录。',
  'The address of this file has expired. Open the file again from the list that names it.':
    '该文件的地址已过期。请从列出它的页面重新打开。',
  'The upload could not be read: {0}. Send multipart/form-data with a part named {1}.':
    '无法读取上传内容：{0}。请发送 multipart/form-data，其中包含名为 {1} 的部分。',
  'The request has more files than one upload may have, which is {0}. Nothing was stored. Send the others in further requests.':
    '请求中的文件超过一次上传的上限 {0} 个，未保存任何文件。请将其余文件分批发送。',
  'The content of the file is not in the storage of this process. Ask the operator to look at DATA_DIR or STORAGE_URL.':
    '此进程的存储中没有该文件的内容。请联系运维人员检查 DATA_DIR 或 STORAGE_URL。',
  'The object storage failed. {0}': '对象存储出错。{0}',
  'The object storage answered with an error ({0}).': '对象存储返回了错误（{0}）。',
  'The bucket of STORAGE_URL does not exist. Create it, or correct STORAGE_URL.':
    'STORAGE_URL 的存储桶不存在。请创建它，或更正 STORAGE_URL。',
  'The credentials of the object storage have expired. Renew them, or give the process a role whose credentials are renewed.':
    '对象存储的凭证已过期。请更新凭证，或为进程指定会自动更新凭证的角色。',
  'No credentials of the object storage were found. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_SHARED_CREDENTIALS_FILE, or give the process a role.':
    '未找到对象存储的凭证。请设置 AWS_ACCESS_KEY_ID 和 AWS_SECRET_ACCESS_KEY、AWS_SHARED_CREDENTIALS_FILE，或为进程指定角色。',
  'The object storage does not know the credentials of this process. Correct them.':
    '对象存储不认识此进程的凭证。请更正凭证。',
  'The bucket of STORAGE_URL is in another region or at another endpoint. Set its parameters region and endpoint.':
    'STORAGE_URL 的存储桶位于其他区域或端点。请设置参数 region 和 endpoint。',
  'The object storage accepts fewer requests at the moment. If that lasts, raise its limits.':
    '对象存储目前限制了请求数量。如果持续如此，请提高其限额。',
  'The clock of this machine differs from that of the object storage. Correct it.':
    '本机时钟与对象存储的时钟不一致。请校正时钟。',
  'The object storage cannot use the key of STORAGE_URL. Check kmsKey and the rights to it.':
    '对象存储无法使用 STORAGE_URL 的密钥。请检查 kmsKey 及其权限。',
  'The object storage is full. Make room, or raise its quota.':
    '对象存储已满。请清理空间，或提高配额。',
  'The credentials of this process have no right to the bucket of STORAGE_URL. They need the rights that docs/OPERATIONS.md lists.':
    '此进程的凭证没有访问 STORAGE_URL 存储桶的权限。所需权限见 docs/OPERATIONS.md。',
  'http without TLS': '未使用 TLS 的 http',
  'The audit entry': '审计记录',
  'The database': '数据库',
  'has the wrong form': '格式不正确',
  'must not be a javascript:, vbscript:, data:, blob: or file: address; a data URI of PNG, JPEG, GIF or WebP is allowed':
    '不能是 javascript:、vbscript:、data:、blob: 或 file: 地址；允许使用 PNG、JPEG、GIF 或 WebP 的 data URI',
  'must be a time like 2026-01-31 18:30:00, or a day':
    '必须是形如 2026-01-31 18:30:00 的时间，或一个日期',
  '{0} or {1}': '{0} 或 {1}',
  '{0}, or {1}': '{0} 或 {1}',
  '{0} and {1}': '{0} 和 {1}',
  'user name or password in the address': '地址中有用户名或密码',
  'fragment in the address': '地址中有片段标识',
  'host that is not listed': '主机不在允许列表中',
  port: '端口',
  'cloud metadata': '云元数据',
  loopback: '回环地址',
  'not an address': '不是地址',
  'neither http nor https': '不是 http 或 https',
  'backslash or control character in the address': '地址中有反斜杠或控制字符',
  'link-local': '链路本地地址',
  'unspecified address': '未指定地址',
  broadcast: '广播',
  multicast: '组播',
  'translated address': '转换地址',
  'private network': '内网',
  'reserved range': '保留地址段',
  ' to {0}': '，目标为 {0}',
  'The file storage': '文件存储',
  '{0} stored it, {1} does not find it': '由 {0} 保存，{1} 未找到',
  'an earlier release': '较早的版本',
  'You may no longer use what this answer needs, so it stops here. Choose another model, agent or knowledge base.':
    '您已无权使用此回答所需的内容，因此回答到此为止。请选择其他模型、智能体或知识库。',
  'it contains more than one file': '包含多个文件',
  'A request can have at most {0} tags. Send fewer in {1} and metadata.tags.':
    '一个请求最多可有 {0} 个标签。请在 {1} 和 metadata.tags 中减少标签。',
  'Only API keys have tags. Send the request with a key that may use the tag {0}, or without {1}.':
    '只有 API 密钥才有标签。请使用可用标签 {0} 的密钥发送请求，或去掉 {1}。',
  'The tag {0} is not among those that this API key may use. Add it to the tags of the key, or send the request without it.':
    '此 API 密钥不能使用标签 {0}。请将其加入密钥的标签，或去掉该标签后再发送。',
  'it contains no file': '没有文件',
  'it was interrupted': '上传中断',
};
