export const mcpServer = {
  'Pages of this origin may not call this address. Add the origin to CORS_ORIGINS, or call it from a program.':
    '此来源的页面不能调用该地址。请将来源加入 CORS_ORIGINS，或用程序调用。',
  'The protocol has no batches. Send one message at a time.': '该协议没有批量消息。请逐条发送。',
  'The tool has no argument {0}. It has: {1}.': '此工具没有参数 {0}。可用的参数：{1}。',
};
