export const identity = {
  'The value of {0} is not valid.': '{0} 的值无效。',
  'The path {0} does not name an attribute.': '路径 {0} 不指向任何属性。',
  'Another resource has the {0} {1}.': '{0} {1} 已被其他资源使用。',
  'The filter is not valid near {0}. Attributes are compared by eq, ne, co, sw, ew, gt, ge, lt, le and pr.':
    '过滤条件在 {0} 附近无效。属性使用 eq、ne、co、sw、ew、gt、ge、lt、le 和 pr 比较。',
  'The filter cannot compare the attribute {0}.': '过滤条件不能比较属性 {0}。',
  'A resource must be a JSON object.': '资源必须是 JSON 对象。',
  'An operation must be an object.': '操作必须是对象。',
  'Operations must be a list of at most {0} operations.':
    'Operations 必须是最多包含 {0} 个操作的列表。',
  'The op of an operation is add, remove or replace.': '操作的 op 必须是 add、remove 或 replace。',
  'An operation that removes needs a path.': 'remove 操作需要 path。',
  'The attribute {0} cannot be changed.': '不能更改属性 {0}。',
  'The attribute {0} has more than {1} characters.': '属性 {0} 超过 {1} 个字符。',
  'The attribute {0} is required.': '属性 {0} 为必填项。',
  'A group has at most {0} members.': '一个组最多有 {0} 个成员。',
  'There is no user {0} to be a member.': '没有可作为成员的用户 {0}。',
  'A group has at most {0} members. Put the users into several groups, and these into this one.':
    '一个组最多有 {0} 个成员。请将用户放入多个组，再将这些组放入此组。',
  'The group name {0} is taken. Choose another one.': '组名 {0} 已被占用。请使用其他名称。',
  'The group {0} comes from a directory by SCIM. Change it there, or create a local group and add this one to it.':
    '组 {0} 由目录通过 SCIM 提供。请在目录中更改，或创建本地组并将此组添加到其中。',
  'The group {0} comes from the claims of sign-ins. Change its members at the provider, or create a local group and add this one to it.':
    '组 {0} 来自登录声明。请在提供方处更改其成员，或创建本地组并将此组添加到其中。',
  'There is no group {0} to be a member.': '没有可作为成员的组 {0}。',
  'A group cannot be inside of itself, also by way of other groups. Remove one of the groups first.':
    '组不能包含自身，也不能通过其他组包含自身。请先移除其中一个组。',
  'Groups can be inside of each other on at most {0} levels. Add the members to an outer group instead.':
    '组最多可嵌套 {0} 层。请改为将成员添加到外层的组。',
  'A service account has no password. Create an API key for it.':
    '服务账号没有密码。请为其创建 API 密钥。',
  'You cannot assign the permission {0}, because you do not have it. Ask an administrator who does.':
    '您不能分配权限 {0}，因为您自己没有该权限。请联系拥有该权限的管理员。',
  'This would change permissions that you do not have. Ask an administrator who has them.':
    '此操作会更改您没有的权限。请联系拥有这些权限的管理员。',
  'The client key {0} is taken. Choose another one.': '客户端标识 {0} 已被占用。请使用其他标识。',
  'You are signed in with this client and would lock yourself out. Use another client.':
    '您正通过此客户端登录，这样会把自己锁在外面。请使用其他客户端操作。',
  'grantTypeList must contain one or more of {0}.': 'grantTypeList 必须包含以下一项或多项：{0}。',
  'Too many sign-ins at the same time. Try again in {0} second.':
    '同时登录的人数过多。请 {0} 秒后再试。',
  'The user name or the password is wrong.': '用户名或密码错误。',
  'Too many wrong passwords or codes for this user. Wait {0} seconds, then try again.':
    '该用户的密码或验证码错误次数过多。请等待 {0} 秒后再试。',
  'Your user has a second factor. Enter its code. If this client does not ask for one, sign in at the console of this service.':
    '您的用户启用了双重验证。请输入验证码。如果此客户端不要求输入验证码，请在此服务的控制台登录。',
  'The second factor is wrong or was used already. Try again with a new code.':
    '双重验证失败，或验证码已被使用。请用新的验证码重试。',
  'Your role requires a second factor, and you have none. Sign in at the console of this service to set one up.':
    '您的角色要求双重验证，而您尚未设置。请在此服务的控制台登录并设置。',
  'This step has expired or was used already. Start again.': '此步骤已过期或已被使用。请重新开始。',
  "The browser's answer does not fit. Start again.": '浏览器的应答无效。请重新开始。',
  'The code is wrong. Check the clock of the device, and enter the code that it shows now.':
    '验证码错误。请检查设备的时间，并输入当前显示的验证码。',
  'Browsers use security keys only at an address with https and a domain. Use an authenticator app instead.':
    '浏览器只在使用 https 和域名的地址上支持安全密钥。请改用身份验证器应用。',
  'You have {0} second factors, which is the limit. Remove one first.':
    '您已有 {0} 个双重验证方式，达到上限。请先移除一个。',
  'Your role requires a second factor. Add another one before you remove this.':
    '您的角色要求双重验证。请先添加另一个验证方式，再移除此项。',
  'You have no second factor. Add one first.': '您没有双重验证方式。请先添加。',
  'Enter your password or a code of your second factor.': '请输入密码或双重验证的验证码。',
  'The code is wrong or was used already. Enter a new one.':
    '验证码错误或已被使用。请输入新的验证码。',
  'menuIds: {0} is not an entry of the tree. Load GET /system/menu/treeselect again.':
    'menuIds：{0} 不是菜单树中的条目。请重新加载 GET /system/menu/treeselect。',
  'dataScope must be 1, all data. What a role may see follows from its permissions: change them instead.':
    'dataScope 必须为 1，即全部数据。角色可见的内容由其权限决定，请改为修改权限。',
  'The role {0} still has users. Remove it from them first.':
    '角色 {0} 还有用户。请先从这些用户移除该角色。',
  'The role superadmin cannot be changed. Create another role instead.':
    '不能更改角色 superadmin。请改为创建其他角色。',
  'You have this role and cannot remove permissions from yourself. Ask another administrator.':
    '您拥有此角色，不能移除自己的权限。请联系其他管理员。',
  'The role key superadmin is reserved. Choose another one.':
    '角色标识 superadmin 是保留的。请使用其他标识。',
  'The role key {0} is taken. Choose another one.': '角色标识 {0} 已被占用。请使用其他标识。',
  'permissions: {0} cannot be assigned. GET /system/permission/list names those that can; system:info:* stands for all that begin so.':
    'permissions：不能分配 {0}。GET /system/permission/list 列出可分配的权限；system:info:* 表示所有以此开头的权限。',
  'The captcha has expired. Load a new one and try again.':
    '验证码已过期。请加载新的验证码后再试。',
  'The captcha is wrong. Load a new one and try again.': '验证码错误。请加载新的验证码后再试。',
  'Send one image as `avatarfile`.': '请以 `avatarfile` 上传一张图片。',
  'The file is not a PNG, JPEG, GIF, WebP or BMP image. Choose another one.':
    '该文件不是 PNG、JPEG、GIF、WebP 或 BMP 图片。请选择其他文件。',
  'Registration is disabled here. Ask an administrator for an account.':
    '此处未开放注册。请联系管理员开通账号。',
  'Registration is not set up here: there is no role with the key {0}. Ask an administrator.':
    '此处尚未设置注册：没有标识为 {0} 的角色。请联系管理员。',
  'This client may not sign in with the grant type {0}.': '此客户端不能使用授权类型 {0} 登录。',
  'This client is disabled. Ask the operator of this service.':
    '此客户端已停用。请联系此服务的运维人员。',
  'Only the grant type password is supported here.': '此处只支持授权类型 password。',
  'This tenant does not exist. Check the tenant id, or ask your administrator.':
    '该租户不存在。请检查租户编号，或联系您的管理员。',
  'username and password are required to sign in.': '登录需要 username 和 password。',
  'Every tenant has all functions. There is nothing to transfer.':
    '每个租户都拥有全部功能，无需同步。',
  'Every tenant has the built-in dictionaries. There is nothing to transfer.':
    '每个租户都有内置字典，无需同步。',
  'Settings apply to the whole installation. There is nothing to transfer.':
    '设置对整个安装生效，无需同步。',
  'This tenant is disabled. Ask the operator of this service.':
    '该租户已停用。请联系此服务的运维人员。',
  'This tenant has expired. Ask the operator of this service to extend it.':
    '该租户已过期。请联系此服务的运维人员续期。',
  'The tenant id {0} is taken. Choose another one, or give none.':
    '租户编号 {0} 已被占用。请使用其他编号，或不提供编号。',
  'The tenant {0} belongs to the installation: it cannot be disabled, expire or be deleted.':
    '租户 {0} 属于安装本身，不能停用、过期或删除。',
  'The old password is wrong.': '旧密码错误。',
  'This would leave no super administrator. Give another user the role superadmin first.':
    '这样将没有超级管理员。请先为其他用户分配角色 superadmin。',
  'You cannot {0} yourself. Ask another administrator.': '您不能{0}。请联系其他管理员。',
  '{0} users were created, {1} were changed.': '已创建 {0} 个用户，已更改 {1} 个用户。',
  'Send one file as `file`.': '请以 `file` 发送一个文件。',
  'The workbook is larger than 1 MiB. Split it.': '工作簿超过 1 MiB。请拆分。',
  'Row {0}: {1}': '第 {0} 行：{1}',
  '{0} more rows are refused.': '另有 {0} 行被拒绝。',
  'Nothing was imported.': '没有导入任何内容。',
  'there is a user of this name. Allow changes of existing users, or remove the row.':
    '已有同名用户。请允许更改已有用户，或删除该行。',
  'The first row has no column "{0}". Use the headers of the template.':
    '第一行没有“{0}”列。请使用模板的表头。',
  'The workbook has no rows below its headers.': '工作簿的表头下没有数据行。',
  'The workbook has more than {0} rows. Split it.': '工作簿超过 {0} 行。请拆分。',
  'it names a role that does not exist.': '其中的角色不存在。',
  'The user name {0} is taken. Choose another one.': '用户名 {0} 已被占用。请使用其他用户名。',
  'This tenant has reached its limit of users. Delete one, or ask the operator to raise accountCount.':
    '该租户的用户数已达上限。请删除一个用户，或联系运维人员提高 accountCount。',
  'You need the permission system:user:edit to search or order by phonenumber. Leave phonenumber out, or ask an administrator for it.':
    '按 phonenumber 搜索或排序需要权限 system:user:edit。请去掉 phonenumber，或联系管理员授予权限。',
  'This provider does not exist or is disabled. Choose another one.':
    '该登录提供方不存在或已停用。请选择其他提供方。',
  'This client may not sign in with a provider. Ask the operator of this service.':
    '此客户端不能通过登录提供方登录。请联系此服务的运维人员。',
  'This tenant is disabled or has expired. Ask the operator of this service.':
    '该租户已停用或已过期。请联系此服务的运维人员。',
  'The sign-in has expired or was used already. Start again.':
    '此次登录已过期或已被使用。请重新开始。',
  'The provider has refused the sign-in. Ask its administrator for access.':
    '登录提供方拒绝了登录。请向其管理员申请访问权限。',
  'The provider cannot be reached at the moment. Try again, or sign in in another way.':
    '目前无法连接登录提供方。请重试，或使用其他方式登录。',
  'The provider refuses this service: client id, secret or redirect address is wrong. Ask an administrator to test the provider.':
    '登录提供方拒绝此服务：客户端 ID、密钥或回调地址有误。请联系管理员测试该提供方。',
  'The answer of the provider is not valid. Start again, or ask an administrator to test the provider.':
    '登录提供方的应答无效。请重新开始，或联系管理员测试该提供方。',
  'Your user is disabled. Ask an administrator.': '您的用户已停用。请联系管理员。',
  'You have no user here, and this provider creates none. Ask an administrator.':
    '您在此没有用户，且该登录提供方不会创建用户。请联系管理员。',
  'This account of the provider already signs in another user here. Ask an administrator to disconnect that user, then connect again.':
    '该提供方账号已用于登录此处的另一位用户。请管理员先取消该用户的关联，然后重新关联。',
  'You are connected with another account of this provider already. Disconnect that one, then connect again.':
    '您已关联该提供方的另一个账号。请先取消该关联，然后重新关联。',
  'This service cannot read the secret of the provider. Ask the operator to check SECRET_KEY, or an administrator to enter the secret again.':
    '此服务无法读取登录提供方的密钥。请运维人员检查 SECRET_KEY，或请管理员重新输入密钥。',
  'Your sign-in has ended meanwhile, so you were not connected. Sign in, then connect again.':
    '您的登录已在此期间结束，因此未能关联。请登录后重新关联。',
  'Without this connection you sign in with your password. Enter it to disconnect.':
    '取消此关联后，您将使用密码登录。请输入密码以取消关联。',
  'This connection is your only way to sign in, because this tenant has turned password sign-in off. Connect another provider first, or ask an administrator.':
    '此关联是您唯一的登录方式，因为该租户已关闭密码登录。请先关联其他提供方，或联系管理员。',
  'The password is wrong. If you have none, ask an administrator to set one.':
    '密码错误。如果您没有密码，请联系管理员设置。',
  'This tenant has reached its limit of users. Ask an administrator.':
    '该租户的用户数已达上限。请联系管理员。',
  'The logout token is not valid.': '注销令牌无效。',
  'The addresses of this draft belong to a provider already. Open the form again.':
    '该草稿的地址已属于一个提供方。请重新打开表单。',
  'Users have signed in with this provider, so its issuer cannot be changed. Create another provider.':
    '已有用户通过此提供方登录，因此不能更改其颁发者。请创建其他提供方。',
  'The stored secret is not sent to another issuer. Enter the client secret for the new one.':
    '已保存的密钥不会发送给其他颁发者。请输入新颁发者的客户端密钥。',
  'The role superadmin cannot be given by a provider. Choose another role.':
    '登录提供方不能授予角色 superadmin。请选择其他角色。',
  'Choose at least one enabled break-glass user before you turn password sign-in off. A service account cannot be one.':
    '关闭密码登录前，请至少选择一个已启用的应急用户。服务账号不能作为应急用户。',
  'A break-glass user signs in with a password, and these have none: {0}. Set their passwords under Users first.':
    '应急用户使用密码登录，而以下用户没有密码：{0}。请先在用户管理中为其设置密码。',
  'This would leave no break-glass user. Choose another one under single sign-on first.':
    '这样将没有应急用户。请先在单点登录中选择其他应急用户。',
  'This tenant has turned password sign-in off. Sign in with one of its providers instead.':
    '该租户已关闭密码登录。请使用其登录提供方登录。',
  'scopes must contain openid.': 'scopes 必须包含 openid。',
  'roleMapping must be a list': 'roleMapping 必须是列表',
  'roleMapping has more than {0} entries': 'roleMapping 超过 {0} 项',
  'each entry of roleMapping must be an object': 'roleMapping 的每一项必须是对象',
  'Everything that can be tested without a user works. Register the redirect address at the provider, then sign in once.':
    '无需用户即可测试的部分均正常。请在提供方登记回调地址，然后登录一次。',
  'The document is read from {0}.': '从 {0} 读取文档。',
  'The provider answered HTTP {0}. Compare the issuer with its documentation: often a path such as /realms/name is missing or too much.':
    '提供方返回 HTTP {0}。请将颁发者与其文档对照：常见的是缺少或多出 /realms/name 之类的路径。',
  'The answer is no document of OpenID Connect.': '应答不是 OpenID Connect 文档。',
  'The provider calls itself {0}. Enter exactly that as the issuer.':
    '提供方自称 {0}。请将颁发者准确填写为该值。',
  'The document names the same issuer.': '文档中的颁发者一致。',
  'The document lacks authorization_endpoint, token_endpoint or jwks_uri. This service needs all of them.':
    '文档缺少 authorization_endpoint、token_endpoint 或 jwks_uri。此服务需要全部这些地址。',
  'The provider does not support PKCE with S256. Allow it there for this client.':
    '提供方不支持使用 S256 的 PKCE。请在提供方为此客户端启用。',
  'The document has all endpoints, and {0}.': '文档包含所有端点，以及 {0}。',
  'The document has all endpoints, but none for the sign-out.':
    '文档包含所有端点，但没有注销端点。',
  'The provider shows no keys (HTTP {0}), so its tokens cannot be verified.':
    '提供方未提供密钥（HTTP {0}），因此无法验证其令牌。',
  'The provider has {0} keys.': '提供方有 {0} 个密钥。',
  'The provider refuses client id or secret. Compare both with the registration there.':
    '提供方拒绝客户端 ID 或密钥。请与提供方的登记对照。',
  'Client id and secret are right.': '客户端 ID 和密钥正确。',
  'No sign-in has missed groups.': '没有登录缺少组信息。',
  'Groups overage: {0} users have more groups than their token names, and the provider did not list them when asked. They keep the roles that they had. Allow this client to read group memberships there, or let the provider send only the groups that are assigned to it.':
    '组信息超限（groups overage）：{0} 个用户的组多于令牌所列，且提供方在询问时未列出。这些用户保留原有角色。请在提供方处允许此客户端读取组成员关系，或让提供方只发送分配给它的组。',
  'The provider does not say whether client id and secret are right. It shows at the first sign-in.':
    '提供方未说明客户端 ID 和密钥是否正确。首次登录时即可看出。',
  'Remove the ? and what follows.': '请删除 ? 及其后的内容。',
  'query in the address': '地址中包含查询参数',
  'The client': '客户端',
  'The role': '角色',
  'The group': '组',
  'The schema': '模式',
  'The sign-in': '登录记录',
  'must be six digits': '必须是六位数字',
  'must not contain spaces': '不能包含空格',
  'The tenant': '租户',
  'The user': '用户',
  'The connection': '关联',
  'reset the password of': '重置自己的密码',
  'remove the second factor of': '移除自己的双重验证方式',
  'The second factor': '双重验证方式',
  disconnect: '取消自己的关联',
  delete: '删除自己',
  'change the roles of': '更改自己的角色',
  disable: '停用自己',
};
