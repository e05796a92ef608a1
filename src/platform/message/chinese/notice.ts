export const notice = {
  'The address for notices': '通知地址',
  'A tenant can have at most {0} addresses for notices. Remove one first.':
    '一个租户最多可有 {0} 个通知地址。请先删除一个。',
  'This address gets notices already.': '此地址已在接收通知。',
  'This installation sends no mail. Ask its operator to set SMTP_URL and MAIL_FROM, or add a webhook.':
    '此安装不发送邮件。请让运维人员设置 SMTP_URL 和 MAIL_FROM，或添加 webhook。',
  'address must be one mailbox such as costs@example.com.':
    'address 必须是一个邮箱，例如 costs@example.com。',
};
