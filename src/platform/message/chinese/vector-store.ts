export const vectorStore = {
  'Too many knowledge bases are searched at once for EXACT_VECTOR_MEMORY_MB. Try again in a moment, or ask an administrator to increase it.':
    '同时检索的知识库过多，超出 EXACT_VECTOR_MEMORY_MB。请稍后再试，或联系管理员提高该值。',
  'A knowledge base can have {0} fragments of {1} dimensions in the exact vector store. Split it, or ask an administrator to increase EXACT_VECTOR_MEMORY_MB or to set up Qdrant or pgvector.':
    '在 exact 向量库中，一个知识库最多可有 {0} 个 {1} 维的片段。请拆分知识库，或联系管理员提高 EXACT_VECTOR_MEMORY_MB，或配置 Qdrant 或 pgvector。',
  'The server at QDRANT_URL is not Qdrant. Ask an administrator to check the address.':
    'QDRANT_URL 上的服务不是 Qdrant。请联系管理员检查地址。',
  'The vector store is Qdrant {0}, but {1} or newer is required. Ask an administrator to update it.':
    '向量库是 Qdrant {0}，但需要 {1} 或更新的版本。请联系管理员升级。',
  'Qdrant refuses the key. Ask an administrator to check QDRANT_API_KEY.':
    'Qdrant 拒绝了密钥。请联系管理员检查 QDRANT_API_KEY。',
  'The collections in Qdrant belong to another installation. Ask an administrator to set another QDRANT_PREFIX.':
    'Qdrant 中的集合属于另一个安装。请联系管理员设置其他 QDRANT_PREFIX。',
  'The disk of Qdrant is full, so that no vectors can be stored. Ask an administrator to free space.':
    'Qdrant 的磁盘已满，无法保存向量。请联系管理员释放空间。',
  'Qdrant refuses the request (HTTP {0}). Ask an administrator to check the log.':
    'Qdrant 拒绝了请求（HTTP {0}）。请联系管理员检查日志。',
  'Qdrant failed to answer the request. Try again in a moment. If it fails again, ask an administrator to check the log.':
    'Qdrant 未能响应请求。请稍后再试。如果再次失败，请联系管理员检查日志。',
  'A collection in Qdrant is removed repeatedly. Ask an administrator to check who else uses this Qdrant.':
    'Qdrant 中的一个集合被反复删除。请联系管理员检查还有谁在使用该 Qdrant。',
  'The document or its knowledge base was deleted, so its vectors were not stored.':
    '文档或其知识库已被删除，因此没有保存其向量。',
  'The vector store {0} failed to {1}. Try again in a moment. If it fails again, ask an administrator to check the log.':
    '向量库 {0} 未能{1}。请稍后再试。如果再次失败，请联系管理员检查日志。',
  '{0} vectors remain after the removal, because some were added at the same time. Delete again.':
    '删除后仍有 {0} 个向量，因为同时又添加了一些。请再次删除。',
  'The vectors of this knowledge base are in the vector store {0}, which this installation does not run. Ask an administrator to set it up again, or save the base with reindex: true.':
    '此知识库的向量保存在向量库 {0} 中，而此安装未运行该向量库。请联系管理员重新配置，或以 reindex: true 保存知识库。',
  'No vector store was chosen: {0} serves it.': '没有选择向量库，由 {0} 提供服务。',
  'This installation does not run {0}: {1} serves it.': '此安装未运行 {0}，由 {1} 提供服务。',
  'vectorModel must be one of {0}, or empty.': 'vectorModel 必须是以下之一或为空：{0}。',
  'search vectors': '检索向量',
  'remove vectors': '删除向量',
  'The vector store': '向量库',
  'store vectors': '保存向量',
  'count vectors': '统计向量',
  'list vectors': '列出向量',
};
