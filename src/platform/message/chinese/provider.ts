export const provider = {
  'The credential for google must be the JSON key of a service account, with client_email and private_key.':
    'google 的凭据必须是服务账号的 JSON 密钥，包含 client_email 和 private_key。',
  'The credential for {0} must be JSON with {1}.': '{0} 的凭据必须是包含 {1} 的 JSON。',
  'The identity of this host is not available to your tenant. Enter a credential, or ask an operator to add the tenant to HOST_IDENTITY_TENANTS.':
    '您的租户不能使用此主机的身份。请输入凭据，或请运维人员将租户加入 HOST_IDENTITY_TENANTS。',
  'The identity of this host is sent to services of its cloud alone. Enter such an https address, or a credential.':
    '此主机的身份只会发送给其所在云的服务。请输入这类 https 地址，或输入凭据。',
  'The address names no region of AWS. Add region to the JSON of the credential, for example us-east-1.':
    '地址中没有 AWS 区域。请在凭据的 JSON 中加入 region，例如 us-east-1。',
  'The cloud issued no token for the credential of this model. Check the credential. It said: {0}':
    '云服务没有为此模型的凭据签发令牌。请检查凭据。其说明：{0}',
  'The provider answered no judgement.': '供应商没有返回审核结果。',
  'The provider answered no times, which subtitles need. Ask for the format json.':
    '供应商没有返回字幕所需的时间。请改用 json 格式。',
  'The provider answered no transcript.': '供应商没有返回文字记录。',
  'The service address does not match the protocol. Choose the provider of the other protocol, or enter the base address.':
    '服务地址与协议不符。请选择另一种协议的供应商，或输入基础地址。',
  'Enter the service address, for example https://api.example.com/v1.':
    '请输入服务地址，例如 https://api.example.com/v1。',
  'The service address must be a valid http or https address, for example https://api.example.com/v1.':
    '服务地址必须是有效的 http 或 https 地址，例如 https://api.example.com/v1。',
  'The service address must not contain a user name, a key in its query or a fragment (#). Remove that part.':
    '服务地址不能包含用户名、查询参数中的密钥或片段标识（#）。请将其移除。',
  'The address of a media model must not contain a query (?). Remove that part.':
    '媒体模型的地址不能包含查询参数（?）。请将其移除。',
  'The provider answered without a choice.': '供应商的回答中没有 choice。',
  'The provider answered without output.': '服务返回的内容中没有输出。',
  'The provider answered without a message.': '供应商的回答中没有消息。',
  'This provider cannot fetch images from an address. Upload the image instead.':
    '该供应商不能从地址获取图片。请改为上传图片。',
  'The address answered with a web page.': '该地址返回的是网页。',
  'The provider answered without content.': '供应商的回答没有内容。',
  'The model called a tool without naming it. Try again.': '模型调用了工具但没有给出名称。请重试。',
  'The model answered without any text or tool call. Try again, or check that the service has loaded the model.':
    '模型的回答中没有文本，也没有工具调用。请重试，或检查服务是否已加载该模型。',
  'The answer reached its length limit in the middle of a tool call. Raise the maximum output.':
    '回答在工具调用中途达到长度上限。请增大最大输出。',
  'The answer ended in the middle of a tool call. Try again.': '回答在工具调用中途结束。请重试。',
  'The provider answered {0} vectors for {1} texts.': '供应商为 {1} 段文本返回了 {0} 个向量。',
  'The provider answered an empty vector.': '供应商返回了空向量。',
  'The provider answered vectors of different lengths.': '供应商返回的向量长度不一致。',
  'The provider answered without a list of models.': '供应商的回答中没有模型列表。',
  'The provider answered without vectors.': '供应商的回答中没有向量。',
  'The provider answered a vector with a value that is no finite number.':
    '供应商返回的向量中有非有限数值。',
  'The provider answered two vectors for the same text.': '供应商为同一段文本返回了两个向量。',
  'The provider answered no vector for a text.': '供应商没有为某段文本返回向量。',
  'The provider did not finish the image within {0} seconds. Try again.':
    '供应商未能在 {0} 秒内完成图片。请重试。',
  'The provider has nothing at the path {0} (404). Check the service address and the model id.':
    '供应商的路径 {0} 上没有内容（404）。请检查服务地址和模型 id。',
  '{0} It said: {1}': '{0}对方返回：{1}',
  'This is no task id. Enter the id that the request was answered.':
    '这不是任务 id。请输入请求返回的 id。',
  'The provider answered an empty result: no {0}, and no task that can be looked up. Try again, and check that the model makes media of this kind.':
    '供应商返回了空结果：没有 {0}，也没有可查询的任务。请重试，并检查该模型是否能生成此类媒体。',
  'The provider answered without a score for each document.': '供应商的回答没有为每个文档打分。',
  'The provider answered no document.': '供应商没有返回文档。',
  'The provider answered a document that it was not given.': '供应商返回了未提供给它的文档。',
  'The provider answered the same document twice.': '供应商重复返回了同一个文档。',
  'The provider sent a damaged event.': '供应商发送了损坏的事件。',
  'The provider sent a single event of more than 1 MiB, which is refused. Check that the address belongs to a model service.':
    '供应商发送的单个事件超过 1 MiB，已被拒绝。请检查该地址是否属于模型服务。',
  'The request is longer than the context window of the model. Shorten the conversation, or choose a model with a larger window.':
    '请求超出了模型的上下文窗口。请缩短对话，或选择窗口更大的模型。',
  'The provider refused the content of the request. Change what is asked or attached.':
    '供应商拒绝了请求的内容。请修改提问或附件。',
  'The account at the provider has no credit or quota left. Check its balance and plan there.':
    '供应商处的账户已没有余额或配额。请检查其余额和套餐。',
  'The provider refused the API key (401). Check the key of this model.':
    '供应商拒绝了 API 密钥（401）。请检查该模型的密钥。',
  'The provider asks for payment (402). Check the balance of the account there.':
    '供应商要求付费（402）。请检查账户余额。',
  'The provider does not allow this (403). Check the key of this model and what it may use.':
    '供应商不允许此操作（403）。请检查该模型的密钥及其权限。',
  'The provider does not know this address or model (404). Check the service address and the model id.':
    '供应商不认识此地址或模型（404）。请检查服务地址和模型 id。',
  'The request is too large for the provider (413). Shorten the conversation.':
    '请求对供应商来说过大（413）。请缩短对话。',
  'The provider’s rate limit or quota is used up (429). Wait a moment, or raise the limit there.':
    '供应商的速率限制或配额已用尽（429）。请稍候，或在供应商处提高限额。',
  'The provider is overloaded or failing ({0}). Try again in a moment.':
    '供应商过载或出现故障（{0}）。请稍后再试。',
  'The provider rejected the request ({0}). Check the model id and its settings.':
    '供应商拒绝了请求（{0}）。请检查模型 id 及其设置。',
  'The provider reported an error. Try again, or check the model’s settings.':
    '供应商报告了错误。请重试，或检查模型的设置。',
  'The provider sent something that is not JSON.': '供应商发送的内容不是 JSON。',
  'The provider sent an event that is not an object.': '供应商发送的事件不是对象。',
  '{0} Check that the address belongs to a model service of this protocol.':
    '{0}请检查该地址是否属于使用此协议的模型服务。',
  'The provider ended the answer before it was finished. Try again.':
    '供应商在回答完成前结束了回答。请重试。',
  'Unsupported model category: {0}.': '不支持的模型类别：{0}。',
  'Choose a provider with one of these codes: {0}.': '请选择代码为以下之一的供应商：{0}。',
  'The messages protocol has no media; a service of your own is called with custom_api.':
    'messages 协议不支持媒体；自己的服务请使用 custom_api。',
  'The Responses protocol has no media; choose openai or custom_api for it.':
    'Responses 协议不支持媒体；请改用 openai 或 custom_api。',
  'providerName must not be empty.': 'providerName 不能为空。',
  'apiHost must be an http or https address such as https://api.example.com/v1.':
    'apiHost 必须是 http 或 https 地址，例如 https://api.example.com/v1。',
  '{0} and {1} mean the same field, but they differ. Send one of them.':
    '{0} 和 {1} 表示同一个字段，但值不同。请只发送其中一个。',
  'The provider code {0} is configured already; do not configure it twice. Change the existing provider instead.':
    '供应商代码 {0} 已配置，请勿重复配置。请改为修改已有的供应商。',
  'The provider {0} does not exist or is not enabled. Enable the provider, or choose another one.':
    '供应商 {0} 不存在或未启用。请启用该供应商，或选择其他供应商。',
  'The model {0} cannot be called.': '无法调用模型 {0}。',
  '1 model uses {0} and cannot be called until it can use an enabled provider again.':
    '1 个模型使用 {0}，在有可用的已启用供应商之前无法调用。',
  '{0} models use {1} and cannot be called until they can use an enabled provider again.':
    '{0} 个模型使用 {1}，在有可用的已启用供应商之前无法调用。',
  'must not be empty or hold spaces or invisible characters':
    '不能为空，也不能包含空格或不可见字符',
  'The provider': '供应商',
};
