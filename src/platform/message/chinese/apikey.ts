export const apikey = {
  'The API key is not valid. Check that it was copied whole, or create a new one.':
    'API 密钥无效。请检查是否完整复制，或创建新的密钥。',
  'The API key has been revoked. Create a new one.': 'API 密钥已被吊销。请创建新的密钥。',
  'The API key has expired. Create a new one.': 'API 密钥已过期。请创建新的密钥。',
  'The owner of the API key is disabled. Ask an administrator.':
    'API 密钥的所有者已停用。请联系管理员。',
  'This API key cannot be used from the address {0}. Add the address to the key, or use another key.':
    '不能从地址 {0} 使用此 API 密钥。请将该地址加入密钥，或使用其他密钥。',
  'This API key cannot be used for the interface {0}. Add the interface to the key, or use another key.':
    '此 API 密钥不能用于接口 {0}。请将该接口加入密钥，或使用其他密钥。',
  'tags: "{0}" is not a tag. Write it without commas, and without spaces around it.':
    'tags：“{0}”不是标签。请去掉逗号和前后的空格。',
  'A user can have at most {0} API keys. Revoke one first.':
    '一个用户最多可以有 {0} 个 API 密钥。请先吊销一个。',
  'The API key has been revoked or has expired and cannot be changed. Create a new one.':
    'API 密钥已被吊销或已过期，不能更改。请创建新的密钥。',
  'The API key belongs to a connected application and cannot be changed. Revoke it and connect the application again.':
    '此 API 密钥属于已连接的应用，不能更改。请吊销它并重新连接该应用。',
  'API keys can be created and changed only by users who are signed in. Sign in instead.':
    '只有登录的用户才能创建和更改 API 密钥。请登录后操作。',
  'You work in another tenant than your own. Switch back to create a key for yourself.':
    '您正在其他租户中工作。请切换回自己的租户，再为自己创建密钥。',
  'addresses: {0} is neither an address nor a network. Write 192.0.2.7 or 192.0.2.0/24.':
    'addresses：{0} 既不是地址也不是网络。请写成 192.0.2.7 或 192.0.2.0/24。',
  'expireTime must be in the future.': 'expireTime 必须是将来的时间。',
  'permissions: an API key cannot have {0}. GET /system/apikey/permissions names those that it can have.':
    'permissions：API 密钥不能有 {0}。GET /system/apikey/permissions 列出可用的权限。',
  'You need the permission {0} for API keys of others. Ask an administrator for it.':
    '管理他人的 API 密钥需要权限 {0}。请联系管理员授予。',
  'each entry of {0} must be one of {1}.': '{0} 的每一项必须是以下之一：{1}。',
  'The API key': 'API 密钥',
};
