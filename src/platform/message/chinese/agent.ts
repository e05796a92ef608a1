export const agent = {
  'agentName must not be empty': 'agentName 不能为空',
  'modelId is missing: choose the chat model that the agent uses':
    '缺少 modelId：请选择智能体使用的对话模型',
  'The agent {0} is disabled. Choose another agent, or ask an administrator to enable it.':
    '智能体 {0} 已停用。请选择其他智能体，或联系管理员启用。',
  'The model of the agent {0} was deleted. Choose another agent, or ask an administrator to give it another model.':
    '智能体 {0} 的模型已被删除。请选择其他智能体，或联系管理员为其重新指定模型。',
  'The model {0} is of category {1} and cannot answer for an agent. Choose a model of category chat.':
    '模型 {0} 的类别是 {1}，不能用于智能体的回答。请选择 chat 类别的模型。',
  'An agent can have at most {0} {1}, and {2} were given. Remove some.':
    '一个智能体最多可以有 {0} 个{1}，当前为 {2} 个。请移除一部分。',
  'There is no skill named {0}. The skills are {1}.': '没有名为 {0} 的技能。可用的技能：{1}。',
  'There is no tool named {0}. The tools are {1}.': '没有名为 {0} 的工具。可用的工具：{1}。',
  'There is no accepted tool with the id {0} on a tool server that you may use. Leave it out of mcpToolIds.':
    '在您可以使用的工具服务器上没有 ID 为 {0} 的已接受工具。请将其从 mcpToolIds 中移除。',
  '{0} cannot be used: {1}.': '{0} 无法使用：{1}。',
  '{0} takes too long to check. Simplify its patterns, and alternatives that refer to each other.':
    '检查 {0} 耗时过长。请简化其中的正则表达式和互相引用的分支。',
  '{0} must be json_schema or text': '{0} 必须是 json_schema 或 text',
  '{0} must be 1 to 64 letters, digits, _ or -': '{0} 必须由 1 到 64 个字母、数字、_ 或 - 组成',
  '{0} must be a JSON Schema object': '{0} 必须是 JSON Schema 对象',
  '{0} has {1} characters, and at most {2} are allowed': '{0} 有 {1} 个字符，最多允许 {2} 个',
  'There is no runtime named "{0}". The runtimes are {1}.':
    '没有名为“{0}”的运行时。可用的运行时：{1}。',
  'The model {0} does not support tools, which the runtime {1} of the agent needs. Give the agent another model, or the runtime direct.':
    '模型 {0} 不支持工具，而智能体的运行时 {1} 需要工具。请为智能体更换模型，或改用运行时 direct。',
  'The agent has reached {0}, and the model wrote no answer. Ask for less in one message.':
    '智能体已达到{0}，模型没有给出回答。请在一条消息中减少要求。',
  'The answer took longer than {0} seconds and was ended here. Ask for less in one message.':
    '回答耗时超过 {0} 秒，已在此处结束。请在一条消息中减少要求。',
  'must not be empty': '不能为空',
  agents: '智能体',
  skills: '技能',
  tools: '工具',
  'knowledge bases': '知识库',
  'its limit of steps': '步数上限',
  'the limit of tool calls in one answer': '单次回答的工具调用次数上限',
  'the limit of tokens of one answer': '单次回答的词元上限',
};
