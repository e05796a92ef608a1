export const compatibleApi = {
  'Models of the provider {0} cannot moderate. Choose a model of another provider.':
    '供应商 {0} 的模型不能用于内容审核。请选择其他供应商的模型。',
  'The parameter {0} needs an https or a data address.': '参数 {0} 需要 https 地址或 data 地址。',
  'At most {0} images can be sent.': '最多可发送 {0} 张图片。',
  'The parameter {0} cannot be honoured for this model. Remove it, or choose another model.':
    '该模型不支持参数 {0}。请移除该参数，或选择其他模型。',
  'Keys are not taken from the address, where proxies and logs keep them. Send the key in the header x-goog-api-key, and rotate this one.':
    '不接受地址中的密钥，因为代理和日志会留存地址。请在请求头 x-goog-api-key 中发送密钥，并轮换此密钥。',
  'There is no method {0}. Use generateContent, streamGenerateContent, countTokens, embedContent or batchEmbedContents.':
    '没有方法 {0}。请使用 generateContent、streamGenerateContent、countTokens、embedContent 或 batchEmbedContents。',
  'No message before has an open call of the function {0}. Send the message that called it as well.':
    '之前没有消息调用函数 {0} 且尚无结果。请同时发送调用它的消息。',
  'There is no model {0}. GET /v1/models lists those that you can use.':
    '没有模型 {0}。GET /v1/models 列出您可以使用的模型。',
  'The request has no JSON body. Send one with the header Content-Type: application/json.':
    '请求没有 JSON 正文。请带上请求头 Content-Type: application/json 发送。',
  'The parameter {0} names no model of the list. Begin again with the first page.':
    '参数 {0} 指的模型不在列表中。请从第一页重新开始。',
  'The parameter {0} is required.': '缺少参数 {0}。',
  'The token ids at position {0} are not all of the vocabulary cl100k_base. Send text, or make the ids with cl100k_base.':
    '位置 {0} 的 token id 不全属于词表 cl100k_base。请发送文本，或使用 cl100k_base 生成 id。',
  'The parameter {0} is not valid: {1}. Correct it.': '参数 {0} 无效：{1}。请更正。',
  'No message before has a tool call with the id {0}. Send the message that called the tool as well.':
    '之前的消息中没有 id 为 {0} 的工具调用。请一并发送调用该工具的消息。',
  'tool_choice calls for a tool, and there is none. Send tools, or remove it.':
    'tool_choice 要求调用工具，但没有工具。请发送 tools，或移除该参数。',
  'tools has no function {0}. Choose one of those in tools.':
    'tools 中没有函数 {0}。请选择 tools 中的函数。',
  'There is no response {0}. It may have been deleted, or not stored.':
    '没有响应 {0}。它可能已被删除，或未被保存。',
  'The conversation of the response {0} is not stored. Send the earlier messages in input instead.':
    '响应 {0} 的对话未保存。请改为在 input 中发送之前的消息。',
  'The answer was interrupted. Send the request again.': '回答已中断。请重新发送请求。',
  'There is no conversation {0}. It may have been deleted.': '没有会话 {0}。它可能已被删除。',
  'There is no item {0} in the conversation.': '会话中没有条目 {0}。',
  'The item {0} is not stored. Send the item itself instead.':
    '条目 {0} 未被存储。请改为发送该条目本身。',
  'The events of the response {0} are not kept. Read it without stream.':
    '响应 {0} 的事件未保留。请去掉 stream 后读取。',
  'Only a response in the background can be cancelled.': '只有后台响应可以取消。',
  'A response in the background is stored. Leave store out, or send it true.':
    '后台响应会被存储。请省略 store，或将其设为 true。',
  'A response continues a response or a conversation, not both. Remove one of them.':
    '响应只能延续一个响应或一个会话，不能同时延续两者。请移除其中一个。',
  'The conversation is too long to be continued. Send what matters of it in input instead.':
    '该对话过长，无法继续。请改为在 input 中发送其中的要点。',
  'The model could not finish its answer. Try again.': '模型未能完成回答。请重试。',
  'The messages must not contain the character NUL.': '消息不得包含 NUL 字符。',
  'The last message must be one of the user.': '最后一条消息必须是用户的消息。',
  'The service of this model answers the address of a sound. Use POST /media/speech, or another model.':
    '该模型的服务返回音频地址。请使用 POST /media/speech，或选择其他模型。',
  'The request has more than {0} files. Send fewer.': '请求中的文件超过 {0} 个。请减少文件。',
  'The files of the request have more than {0} characters of text. Send fewer or shorter ones.':
    '请求中文件的文本超过 {0} 个字符。请减少或缩短文件。',
  'The path has /v1 twice. Remove one from the base address.':
    '路径中有两个 /v1。请从基础地址中移除一个。',
  'Add /v1 to the base address: {0}.': '请在基础地址后加上 /v1：{0}。',
  'The compatible interfaces are below /v1. Add /v1 to the base address.':
    '兼容接口位于 /v1 之下。请在基础地址后加上 /v1。',
  'Threads are not supported. Send the whole conversation without thread.':
    '不支持 thread。请去掉 thread 并发送完整对话。',
  'There is no batch {0}. It may have been deleted.': '没有批处理 {0}。它可能已被删除。',
  'The batch {0} has ended already and cannot be cancelled.': '批处理 {0} 已经结束，无法取消。',
  'The batch {0} has not ended. Cancel it first, and delete it once it has ended.':
    '批处理 {0} 尚未结束。请先取消，待其结束后再删除。',
  'There are no results of the batch {0}. It may not have ended, or they were deleted.':
    '没有批处理 {0} 的结果。它可能尚未结束，或结果已被删除。',
  'You have {0} batches that have not ended, which is the limit. Wait for one.':
    '您有 {0} 个尚未结束的批处理，已达上限。请等待其中一个结束。',
  'The API key of the batch is no longer valid, or its owner is disabled. Make the batch again with another key.':
    '批处理的 API 密钥已失效，或其所有者已被停用。请用其他密钥重新创建批处理。',
  'The user of the batch is disabled. Ask an administrator.':
    '批处理的用户已被停用。请联系管理员。',
  'The service stopped {0} times while it answered this request. Send it again in another batch.':
    '服务在回答此请求时停止了 {0} 次。请在另一个批处理中重新发送。',
  'The line has more than {0} MiB. Send a shorter request.': '该行超过 {0} MiB。请发送更短的请求。',
  'The file has no requests.': '文件中没有请求。',
  'The file has more than {0} requests. Make several batches.':
    '文件中的请求超过 {0} 个。请分成多个批处理。',
  'The line is not valid JSON.': '该行不是有效的 JSON。',
  'The custom_id {0} is that of another line. It must be unique in the batch.':
    'custom_id {0} 与另一行相同。它在批处理中必须唯一。',
  'The method must be POST.': 'method 必须为 POST。',
  'The url must be the endpoint of the batch, which is {0}.': 'url 必须为批处理的端点 {0}。',
  'Answers of a batch are not streamed. Leave stream out.':
    '批处理的回答不以流的形式返回。请去掉 stream。',
  'The line is not a JSON object.': '该行不是 JSON 对象。',
  'The parameter {0} is not valid. Correct it.': '参数 {0} 无效。请更正。',
  'The file could not be read before the batch expired.': '在批处理过期前未能读取文件。',
  'Batches of the endpoint {0} are not supported. Send one of {1}.':
    '不支持端点 {0} 的批处理。请发送以下之一：{1}。',
  'The file {0} is of the purpose {1}. Upload it with the purpose batch.':
    '文件 {0} 的用途为 {1}。请以用途 batch 上传。',
  'The custom_id {0} is that of another request. It must be unique in the batch.':
    'custom_id {0} 与另一个请求相同。它在批处理中必须唯一。',
  'The parameter {0} names no batch of the list. Begin again with the first page.':
    '参数 {0} 指定的批处理不在列表中。请从第一页重新开始。',
  'The API key of the batch has lost the permission {0}. Make the batch again with another key.':
    '批处理的 API 密钥已失去权限 {0}。请用其他密钥重新创建批处理。',
  'There is no file {0}. It may have been deleted, or have expired.':
    '没有文件 {0}。它可能已被删除或已过期。',
  'You have {0} files, which is the limit. Delete some first.':
    '您有 {0} 个文件，已达上限。请先删除一些。',
  'Your files may have {0} MiB together. Delete some first, or ask the operator to raise API_FILES_MB_PER_USER.':
    '您的文件总共不得超过 {0} MiB。请先删除一些，或请运维人员提高 API_FILES_MB_PER_USER。',
  'The files of the tenant may have {0} MiB together. Delete some first, or ask the operator to raise API_FILES_MB_PER_USER, of which a tenant has ten times as much.':
    '租户的文件总共不得超过 {0} MiB。请先删除一些，或请运维人员提高 API_FILES_MB_PER_USER，租户的上限是它的十倍。',
  'Files of the purpose {0} are not supported. Send one of {1}.':
    '不支持用途为 {0} 的文件。请发送以下之一：{1}。',
  'The parameter {0} names no file of the list. Begin again with the first page.':
    '参数 {0} 指定的文件不在列表中。请从第一页重新开始。',
  'The form has more than one file. Send one.': '表单中有多个文件。请只发送一个。',
  'The files of the request have more than {0} MiB together. Send fewer or shorter ones.':
    '请求中的文件总共超过 {0} MiB。请减少或缩短文件。',
  'a text': '文本',
  'a number': '数字',
  'a whole number': '整数',
  'true or false': 'true 或 false',
  'a list': '列表',
  'an object': '对象',
  null: 'null',
  'it must be {0}': '应为 {0}',
  'its value has none of the supported forms': '其值不符合任何受支持的形式',
  'it must have at least {0} characters': '至少应有 {0} 个字符',
  'it must have at most {0} characters': '最多可有 {0} 个字符',
  'it must have at least {0} entries': '至少应有 {0} 项',
  'it must have at most {0} entries': '最多可有 {0} 项',
  'it must be at least {0}': '不得小于 {0}',
  'it must be at most {0}': '不得大于 {0}',
  Plinth: 'Plinth',
};
