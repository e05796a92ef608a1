export const chat = {
  'This answer does not wait for a decision any more. Reload the chat to see what came of it.':
    '此回答已不再等待决定。请重新加载对话以查看结果。',
  'The time for this decision is over, so nothing was executed. Send a new message to ask again.':
    '此决定已过期，因此没有执行任何操作。请发送新消息再次提问。',
  'argumentsSha256 is not that of the call, so nothing was decided. Reload the chat and review its arguments.':
    'argumentsSha256 与该调用不符，因此未作决定。请重新加载对话并检查其参数。',
  'The outcome of this call is not unknown ({0}), so nothing was changed. Reload the chat.':
    '该调用的结果并非未知（{0}），因此未作更改。请重新加载对话。',
  'The call {0} waits as well. Decide about all calls of the answer at once.':
    '调用 {0} 也在等待。请同时对该回答的所有调用作出决定。',
  'The tool cannot be allowed for the whole chat. Decide once or deny.':
    '不能在整个对话中允许该工具。请选择 once 或 deny。',
  'decisions must be a list with one entry for each call that waits':
    'decisions 必须是列表，每个等待中的调用对应一项',
  'decisions must have an entry for each call that waits': 'decisions 必须包含每个等待中的调用',
  'decisions has more than {0} entries': 'decisions 超过 {0} 项',
  'each entry of decisions must be an object': 'decisions 的每一项必须是对象',
  'Answers of temporary chats take no feedback.': '临时对话的回答不接受反馈。',
  'Send only one of regenerate, editOf and parentId.':
    'regenerate、editOf 和 parentId 只能提供一个。',
  'sessionId is required with regenerate, editOf and parentId.':
    '使用 regenerate、editOf 和 parentId 时必须提供 sessionId。',
  'regenerate takes no content. Send editOf to ask another question in its place.':
    'regenerate 不能带 content。如需改问其他问题，请使用 editOf。',
  'regenerate takes no files. Send editOf with the content and the files instead.':
    'regenerate 不能带文件。请使用 editOf，并附上内容和文件。',
  'editOf must be the id of a question.': 'editOf 必须是问题的 id。',
  'regenerate must be the id of a question or of its answer.':
    'regenerate 必须是问题或其回答的 id。',
  'The service stopped while this message was being answered. Send it with a new key.':
    '回答这条消息时服务停止了。请使用新的键重新发送。',
  'The answer could not be stored. Copy it if you need it.': '回答未能保存。如有需要，请自行复制。',
  'Your sign-in has ended, so the answer stops here. Sign in again to continue.':
    '您的登录已结束，回答到此为止。请重新登录后继续。',
  'The service is restarting, so the answer stops here. Send the message again in a moment.':
    '服务正在重启，回答到此为止。请稍后重新发送消息。',
  'An answer is still being written in this session. Wait for it, or stop it first. If the service was interrupted, the session is free in {0} s.':
    '该会话中仍有回答正在生成。请等待完成，或先停止它。如果服务曾中断，会话将在 {0} 秒后可用。',
  'An answer is still being written in this session. Wait for it, or stop it first.':
    '该会话中还有回答正在生成。请等待其完成，或先停止。',
  'This Idempotency-Key was used with another message. Send a new key with a new message.':
    '此 Idempotency-Key 已用于另一条消息。发送新消息请使用新的键。',
  'The message with this Idempotency-Key is still being answered. Try again later.':
    '使用此 Idempotency-Key 的消息仍在回答中。请稍后再试。',
  'The message is too long for the model: about {0} tokens of {1}. Shorten it or choose another model.':
    '消息对该模型来说过长：约 {0} 个词元，上限 {1}。请缩短消息或选择其他模型。',
  'The service is writing {0} answers, as many as it may at the same time. Try again soon. An operator can raise the limit with CHAT_STREAMS.':
    '服务正在生成 {0} 个回答，已达到同时生成的上限。请稍后重试。运维人员可通过 CHAT_STREAMS 提高上限。',
  '{0} answers are being written or files checked for you, as many as one user or service account may have at the same time. Wait until one ends, or stop one. An operator can raise the limit with CHAT_STREAMS_PER_USER.':
    '正在为您生成回答或检查文件，共 {0} 个，已达到每个用户或服务账号同时进行的上限。请等待其中一个结束，或停止一个。运维人员可通过 CHAT_STREAMS_PER_USER 提高上限。',
  'The answer exceeds the maximum length and was cut here.': '回答超过最大长度，已在此处截断。',
  'Feedback is about answers. Send the id of an answer.': '反馈只针对回答。请提供回答的 id。',
  'The question of this answer was deleted. Add the query by hand.':
    '该回答对应的问题已被删除。请手工添加查询。',
  'The model {0} does not read images such as {1}. Choose another chat model, or set its supportsVision if this is wrong.':
    '模型 {0} 不能读取 {1} 这样的图片。请选择其他对话模型；如果设置有误，请修改其 supportsVision。',
  '{0} is an image of type {1}, which models do not read. Convert it to PNG, JPEG, WebP or GIF and send that.':
    '{0} 是 {1} 类型的图片，模型无法读取。请转换为 PNG、JPEG、WebP 或 GIF 后发送。',
  'The question has {0} images; {1} are the limit. Send fewer.':
    '问题包含 {0} 张图片，上限是 {1} 张。请减少图片。',
  'The image {0} is larger than {1} MiB, which is the limit. Send a smaller one.':
    '图片 {0} 超过 {1} MiB 的上限。请发送较小的图片。',
  'The images of the question are larger than {0} MiB together, which is the limit. Send fewer or smaller ones.':
    '问题中的图片合计超过 {0} MiB 的上限。请减少图片或发送较小的图片。',
  'The file {0} cannot be read. {1}': '无法读取文件 {0}。{1}',
  'The file {0} has {1} than a question takes ({2} tokens). Send it in a session (sessionId), in which large files are searched, or send a shorter one.':
    '文件 {0} 的文本{1}，一个问题最多可带 {2} 个词元。请在会话中发送（sessionId），会话会检索大文件；或发送较短的文件。',
  'The file {0} was not read within {1} s.': '在 {1} 秒内未能读取文件 {0}。',
  'Send the question with the file again in a moment.': '请稍后重新发送带有该文件的问题。',
  'The file {0} was deleted while it was read. Upload it again and send that.':
    '读取文件 {0} 时该文件被删除。请重新上传并发送。',
  'The answer does not fit its JSON Schema, also after a correction: {0}. Send the message again, simplify the schema or choose another model.':
    '回答不符合其 JSON Schema，更正后仍不符合：{0}。请重新发送消息、简化 schema 或选择其他模型。',
  'The answer reached its length limit before its JSON was complete (finishReason length). Raise the limit (maxTokens), or ask for less.':
    '回答在 JSON 完整之前达到了长度上限（finishReason length）。请提高上限（maxTokens），或减少要求。',
  'The model declined to answer (finishReason content-filter), so there is no JSON. {0}':
    '模型拒绝回答（finishReason content-filter），因此没有 JSON。{0}',
  'Rephrase the message.': '请换一种说法。',
  'It said: {0}': '模型的回复：{0}',
  'The answer has more than {0} characters and cannot be checked. Ask for less.':
    '回答超过 {0} 个字符，无法检查。请减少要求。',
  'The answer was cut at the length limit. Ask for the rest, or raise the limit.':
    '回答因长度上限被截断。请继续询问剩余内容，或提高上限。',
  'The service stopped while this answer was being written. Send the message again.':
    '生成此回答时服务停止了。请重新发送消息。',
  'An answer with detach is stopped by its session. Send a sessionId, or leave detach out.':
    '带 detach 的回答通过其会话停止。请提供 sessionId，或不要使用 detach。',
  'The stream of this answer is not kept. Load the messages of the chat.':
    '此回答的事件流已不再保留。请加载该对话的消息。',
  'Last-Event-ID must be the id of the last frame.': 'Last-Event-ID 必须是最后一帧的 id。',
  'The chat session': '会话',
  'The chat message': '消息',
  'The feedback': '反馈',
  'more text': '过长',
  'about {0} tokens of text, more': '约 {0} 个词元，过长',
  'The file {0}': '文件 {0}',
};
