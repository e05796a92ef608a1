export const compat = {
  'You have {0} streams open, as many as one user may have at the same time. Close one and try again. An operator can raise the limit with CHAT_STREAMS_PER_USER.':
    '您已打开 {0} 个流，已达到每个用户同时打开的上限。请关闭一个后重试。运维人员可通过 CHAT_STREAMS_PER_USER 提高上限。',
  'Signing in with a QR code is not available. Use your user name and password.':
    '不支持扫码登录。请使用用户名和密码登录。',
  'Accounts of other services cannot be used here. Ask an administrator about single sign-on.':
    '此处不能使用第三方账号。如需单点登录，请联系管理员。',
  'Codes by e-mail are not available: this service sends no mail. Ask an administrator for an account.':
    '无法使用邮件验证码：此服务不发送邮件。请联系管理员开通账号。',
};
