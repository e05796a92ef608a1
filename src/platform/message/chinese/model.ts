export const model = {
  'You may not use the model {0}. Choose another model, or ask an administrator for access to it.':
    '您无权使用模型 {0}。请选择其他模型，或请管理员授予访问权。',
  'Services of the code {0} have no list of models.': '代码为 {0} 的服务没有模型列表。',
  'No address is known. Enter the address of the provider, or save a model.':
    '地址未知。请输入供应商的地址，或先保存一个模型。',
  'The service lists its models only with a key. Save a model of this provider with its key, then choose from the list.':
    '该服务需要密钥才能列出模型。请先保存该供应商的一个带密钥的模型，然后从列表中选择。',
  '1 knowledge base uses {0}. Choose another model in its settings, or create one of the same name.':
    '1 个知识库使用 {0}。请在其设置中选择其他模型，或创建同名模型。',
  '{0} knowledge bases use {1}. Choose another model in their settings, or create one of the same name.':
    '{0} 个知识库使用 {1}。请在其设置中选择其他模型，或创建同名模型。',
  '1 agent uses {0}. Choose another model for it.': '1 个智能体使用 {0}。请为其选择其他模型。',
  '{0} agents use {1}. Choose another model for them.':
    '{0} 个智能体使用 {1}。请为其选择其他模型。',
  '1 knowledge base uses {0}, whose vectors have another dimension now. Parse its documents again.':
    '1 个知识库使用 {0}，其向量维度已改变。请重新解析其文档。',
  '{0} knowledge bases use {1}, whose vectors have another dimension now. Parse their documents again.':
    '{0} 个知识库使用 {1}，其向量维度已改变。请重新解析其文档。',
  'Affected: {0}.': '受影响：{0}。',
  'Also affected: {0}.': '同样受影响：{0}。',
  'This API key cannot use the model {0}. Add the model to the key, or use another model.':
    '此 API 密钥不能使用模型 {0}。请将该模型加入密钥，或使用其他模型。',
  '{0} Nothing more of the conversation can be left out. Start a new conversation, send less at once, or choose a model with a larger context window.':
    '{0}对话中已没有可以省略的内容。请开始新的对话、减少一次发送的内容，或选择上下文窗口更大的模型。',
  'A call has at most {0} texts: the service refuses more.':
    '一次调用最多包含 {0} 段文本：服务拒绝更多。',
  '{0} is at most {1}: the service refuses more.': '{0} 最大为 {1}：服务拒绝更大的值。',
  'The role {0} is sent as {1}: the service refuses it.': '角色 {0} 以 {1} 发送：服务拒绝该角色。',
  '{0} is sent as {1}: the service refuses it.': '{0} 以 {1} 发送：服务拒绝该参数。',
  '{0} is filled in where a conversation lacks it: the service requires it.':
    '会话中缺少 {0} 时会自动补上：该服务要求它。',
  '{0} is left out: the service refuses it.': '{0} 不再发送：服务拒绝该参数。',
  'Documents are sent in the form of {0}.': '文档按 {0} 的格式发送。',
  'Answers begin with text.': '回答以正文开头。',
  'Answers begin inside of thinking: only the closing tag comes.':
    '回答以思考内容开头：只有结束标签。',
  'Connected.': '已连接。',
  'The proxy has connected to the service.': '代理已连接服务。',
  'The proxy was reached.': '已连接代理。',
  'The stored key was entered for another authType. Enter the apiKey for the new one.':
    '已保存的密钥是为另一种 authType 输入的。请为新的类型输入 apiKey。',
  'The certificate is valid ({0}).': '证书有效（{0}）。',
  'The name has 1 address.': '该名称有 1 个地址。',
  'The name has {0} addresses.': '该名称有 {0} 个地址。',
  'The adapter knows the address.': '地址由适配器决定。',
  'Calls go to {0}.': '调用地址为 {0}。',
  'Nothing wrong was found without a call, which would cost money. Whether key and model id are right shows at the first use.':
    '在不发起付费调用的情况下没有发现问题。密钥和模型 id 是否正确，首次使用时才能知道。',
  'The service answers, but not at this path. Compare the URL with the provider’s documentation: often /v1 or another prefix is missing or too much.':
    '服务有响应，但此路径不对。请将 URL 与供应商的文档对照：常见问题是缺少或多出 /v1 等前缀。',
  'Address and key are right, but the provider does not know this model id. Compare modelName with the provider’s list of models.':
    '地址和密钥正确，但供应商不认识该模型 id。请将 modelName 与供应商的模型列表对照。',
  'The provider accepted the request.': '供应商接受了请求。',
  'The provider answered.': '供应商已响应。',
  'It failed.': '失败。',
  'It answered without text.': '模型已回答，但没有文本。',
  'It answered.': '模型已回答。',
  'The model can be used.': '模型可以使用。',
  'It answered {0} dimensions.': '模型返回 {0} 维向量。',
  'modelDimension is {0}, but the model answers {1} dimensions. Set modelDimension to {2}.':
    'modelDimension 为 {0}，但模型返回 {1} 维。请将 modelDimension 设为 {2}。',
  'It scored {0} of {1} documents.': '模型为 {1} 个文档中的 {0} 个打分。',
  'The embedding model {0} was changed while it embedded texts whose vectors belong together. Embed all of them again: parse the document again, or repeat the request.':
    '向量模型 {0} 在处理同一批文本期间被更改，这些文本的向量必须一致。请全部重新向量化：重新解析该文档，或重新发送请求。',
  'The model {0} answers {1} dimensions, but its modelDimension is {2}. Set modelDimension of this model to {3}, or choose another model.':
    '模型 {0} 返回 {1} 维，但其 modelDimension 为 {2}。请将该模型的 modelDimension 设为 {3}，或选择其他模型。',
  'The provider answered a vector of zeros, which cannot be compared with others. Check that modelName is the id of an embedding model.':
    '供应商返回了零向量，无法与其他向量比较。请检查 modelName 是否为向量模型的 id。',
  'throttled by the provider': '被供应商限流',
  'The provider throttles this embedding model at the moment. Try again in a moment, or raise the limit there.':
    '供应商目前对该向量模型限流。请稍后再试，或在供应商处提高限额。',
  'There is no model named {0}. Choose another model of category {1}, or ask an administrator to add it.':
    '没有名为 {0} 的模型。请选择类别为 {1} 的其他模型，或联系管理员添加。',
  'No {0} model is chosen. Choose a model of category {1}.':
    '没有选择{0}模型。请选择类别为 {1} 的模型。',
  'There is no chat model yet. Ask an administrator to add one and to enable its provider.':
    '还没有对话模型。请联系管理员添加模型并启用其供应商。',
  'The model {0} is of category {1} and cannot be used for {2}. Choose a model of category {3}.':
    '模型 {0} 的类别是 {1}，不能用于{2}。请选择类别为 {3} 的模型。',
  'The stored API key of this model cannot be decrypted, probably because SECRET_KEY was changed. Enter the API key again.':
    '无法解密该模型保存的 API 密钥，可能是因为 SECRET_KEY 已更改。请重新输入 API 密钥。',
  'The stored API key was entered for another service: scheme, host or port of the address changes. Enter the apiKey for the new address, or ask an administrator who has the permission system:model:credential.':
    '保存的 API 密钥属于另一个服务：地址的协议、主机或端口发生了变化。请输入新地址的 apiKey，或联系拥有权限 system:model:credential 的管理员。',
  'The API key of {0} of {1} was replaced.': '已替换 {1} 的 {0}的 API 密钥。',
  'There is no model with the id {0}, which fallbackIds names. Choose another one.':
    '没有 id 为 {0} 的模型，但 fallbackIds 包含它。请选择其他模型。',
  'A model cannot be its own fallback. Remove it from fallbackIds.':
    '模型不能作为自己的备用模型。请将其从 fallbackIds 中移除。',
  'The fallback {0} is not of category {1}. Choose models of the same category.':
    '备用模型 {0} 不属于类别 {1}。请选择同一类别的模型。',
  'The fallback {0} makes other vectors, which cannot be compared with those of this model. Choose a model of the same modelName and modelDimension at another address.':
    '备用模型 {0} 生成的向量不同，无法与该模型的向量比较。请选择 modelName 和 modelDimension 相同、位于其他地址的模型。',
  'Models of category {0} can have neither further keys nor fallbacks: their results are fetched where they were begun. Leave keys and fallbackIds empty.':
    '类别为 {0} 的模型不能有其他密钥或备用模型：其结果须从开始处获取。请将 keys 和 fallbackIds 留空。',
  'A new entry of keys needs its apiKey. Enter it.': 'keys 的新条目需要 apiKey。请输入。',
  'keys must be a list': 'keys 必须是列表',
  'keys has more than {0} entries': 'keys 的条目超过 {0} 个',
  'each entry of keys must be an object': 'keys 的每个条目必须是对象',
  'modelDimension is required for a model of category vector: enter how many dimensions it really answers.':
    'vector 类别的模型必须填写 modelDimension：请输入模型实际返回的维数。',
  'apiHost must not be empty. Enter the address of the service, for example https://api.example.com/v1.':
    'apiHost 不能为空。请输入服务地址，例如 https://api.example.com/v1。',
  '{0} models are named {1}; requests by name use the one with id {2}. Give each its own name.':
    '有 {0} 个模型都名为 {1}；按名称的请求使用 id 为 {2} 的模型。请为每个模型使用不同的名称。',
  'apiKey cannot be sent: character {0} is a control character or is outside Latin-1. Copy the key again, without line breaks and invisible characters.':
    '无法发送 apiKey：第 {0} 个字符是控制字符或超出 Latin-1 范围。请重新复制密钥，不要带换行和不可见字符。',
  moderation: '内容审核',
  transcription: '语音识别',
  models: '模型',
  empty: '空',
  chat: '对话',
  embedding: '向量',
  reranking: '重排',
  'The model': '模型',
  'The price': '价格',
  '1 knowledge base': '1 个知识库',
  '{0} knowledge bases': '{0} 个知识库',
  '1 agent': '1 个智能体',
  '{0} agents': '{0} 个智能体',
  '1 API key limited to chosen models': '1 个限定模型的 API 密钥',
  '{0} API keys limited to chosen models': '{0} 个限定模型的 API 密钥',
  '1 model that loses a fallback': '1 个失去备用模型的模型',
  '{0} models that lose a fallback': '{0} 个失去备用模型的模型',
  '1 model': '1 个模型',
  '{0} models': '{0} 个模型',
};
