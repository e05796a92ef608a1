export const knowledge = {
  'textBlockSize must exceed 0.': 'textBlockSize 必须大于 0。',
  'overlapChar must be 0 or more and smaller than textBlockSize.':
    'overlapChar 必须不小于 0 且小于 textBlockSize。',
  '{0}: there is no model of category {1} named {2}. Choose a model from the list of models, or add it first.':
    '{0}：没有类别为 {1}、名为 {2} 的模型。请从模型列表中选择，或先添加该模型。',
  'ocrModel: the model {0} does not read images. Choose a chat model with supportsVision, or set supportsVision of this one if it does.':
    'ocrModel：模型 {0} 不能读取图片。请选择支持图片（supportsVision）的对话模型；如果该模型实际支持，请设置其 supportsVision。',
  'The documents of this knowledge base are embedded with its current settings. To change {0}, send reindex: true, which parses every document again.':
    '该知识库的文档是按当前设置向量化的。如需更改 {0}，请发送 reindex: true，这会重新解析所有文档。',
  'This knowledge base holds the files of a chat session. Send files in the session to add to it; it is deleted with the session.':
    '该知识库保存的是聊天会话的文件。如需添加，请在会话中发送文件；它会随会话一起删除。',
  'The knowledge base {0} has no embedding model. Choose a model of category vector in its settings, then parse its documents.':
    '知识库 {0} 没有向量模型。请在其设置中选择 vector 类别的模型，然后解析其文档。',
  'This knowledge base is shared with you for reading only. Ask its owner to change it.':
    '该知识库仅以只读方式与您共享。请联系其所有者更改。',
  'Agents whose creators do not manage it search it only for users with access of their own: {0}.':
    '以下智能体的创建者不管理该知识库，因此这些智能体仅为自身有访问权的用户检索它：{0}。',
  'Agents whose creators do not manage it search it only for users with access of their own: {0} and {1} more.':
    '以下智能体的创建者不管理该知识库，因此这些智能体仅为自身有访问权的用户检索它：{0}，另有 {1} 个。',
  'Documents that are parsed already keep the language they were indexed in. Send reindex: true to parse them again.':
    '已解析的文档保留建立索引时的语言。如需重新解析，请发送 reindex: true。',
  'Reranking is on, but no rerank model is chosen, so results keep the order before it. Choose a model of category rerank.':
    '已开启重排，但没有选择重排模型，因此结果保持重排前的顺序。请选择 rerank 类别的模型。',
};
