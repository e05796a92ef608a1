export const mcpServer = {
  'Pages of this origin may not call this address. Add the origin to CORS_ORIGINS, or call it from a program.':
    '此来源的页面不能调用该地址。请将来源加入 CORS_ORIGINS，或用程序调用。',
  'The tool {0} asks a person before each call, which is not possible here. Use it in a chat, or let an administrator set its consent to always.':
    '工具 {0} 每次调用前都要征求用户同意，此处无法做到。请在对话中使用它，或请管理员将其同意方式设为始终允许。',
  'The protocol has no batches. Send one message at a time.': '该协议没有批量消息。请逐条发送。',
  'The tool has no argument {0}. It has: {1}.': '此工具没有参数 {0}。可用的参数：{1}。',
};
