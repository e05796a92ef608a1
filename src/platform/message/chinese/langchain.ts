export const langchain = {
  'response_format is not supported. Use toolStrategy, or withStructuredOutput of the model.':
    '不支持 response_format。请使用 toolStrategy，或模型的 withStructuredOutput。',
  'A content part of type "{0}" cannot be sent in a message of type {1}. Send {2}.':
    '类型为“{0}”的内容不能在 {1} 类型的消息中发送。请发送{2}。',
  'A message of type "{0}" cannot be sent. Send messages of type system, human, ai and tool.':
    '不能发送类型为“{0}”的消息。请发送 system、human、ai 和 tool 类型的消息。',
  'The model {0} does not support tools. Choose another model, or call it without tools.':
    '模型 {0} 不支持工具。请选择其他模型，或不带工具调用。',
  'The model {0} does not support images. Choose another model, or send text only.':
    '模型 {0} 不支持图片。请选择其他模型，或只发送文本。',
  'The tool message of the call {0} has no name, and no message before it has the call. Send the message with the call, too.':
    '调用 {0} 的工具消息没有名称，之前的消息中也没有该调用。请同时发送带有该调用的消息。',
  'A call of the tool {0} has no id. Send the message as the model answered it.':
    '工具 {0} 的一次调用没有 id。请按模型的原样发送该消息。',
  'The tool {0} cannot be offered. Give it a name, a description and the schema of an object.':
    '无法提供工具 {0}。请为其指定名称、描述和对象的 schema。',
  'tool_choice must be auto, none, any or the name of a tool that is offered.':
    'tool_choice 必须是 auto、none、any 或所提供工具的名称。',
  'text and images': '文本和图片',
  text: '文本',
};
