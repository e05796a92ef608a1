export const retrieval = {
  'query must not be empty. Enter what you are looking for.':
    'query 不能为空。请输入要查找的内容。',
  'Vector search is incomplete, because vectors of the knowledge base were lost and are being made again. Fragments may be missing from this result until that is done.':
    '向量检索不完整，因为该知识库的向量丢失，正在重新生成。完成之前，结果中可能缺少片段。',
  'The log has the reason.': '原因见日志。',
  'Reranking failed, so the order before it is shown.': '重排失败，因此显示重排前的顺序。',
  'No document of the knowledge base has metadata that fits the filter. Check its keys, values and their types.':
    '知识库中没有文档的元数据符合过滤条件。请检查键、值及其类型。',
  '{0} search failed and is missing from this result.': '{0}检索失败，未包含在结果中。',
  'Every fragment found is below the similarity threshold {0}. Lower the threshold to see them; belowThreshold has the best similarity.':
    '找到的片段都低于相似度阈值 {0}。请降低阈值以显示它们；belowThreshold 中有最高的相似度。',
  'The rerank model scored {0} of {1} fragments. The others follow in the order before it.':
    '重排模型为 {1} 个片段中的 {0} 个打分，其余片段按重排前的顺序排列。',
  'Reranking is on, but no rerank model is chosen. Choose a model of category rerank.':
    '已开启重排，但没有选择重排模型。请选择 rerank 类别的模型。',
  '{0}: line {1} {2}. Correct it and import again; nothing was stored.':
    '{0}：第 {1} 行{2}。请更正后重新导入；未保存任何内容。',
  'An import needs queries (the lines of a queries.jsonl) and qrels (the lines of a qrels .tsv). Send both, as fields of a JSON body or as files named *.jsonl and *.tsv.':
    '导入需要 queries（queries.jsonl 的各行）和 qrels（qrels .tsv 的各行）。请同时发送两者，作为 JSON 请求体的字段，或作为名为 *.jsonl 和 *.tsv 的文件。',
  '{0} is larger than {1} MiB. Import a part of it.': '{0} 超过 {1} MiB。请导入其中一部分。',
  'This knowledge base has no document or fragment {0}. Use the docId from the list of its documents, or the fid from the list of their fragments.':
    '该知识库中没有文档或片段 {0}。请使用文档列表中的 docId，或片段列表中的 fid。',
  'Each entry of expected names either a document (docId) or a fragment (fid).':
    'expected 的每一项要么指定文档（docId），要么指定片段（fid）。',
  'The test set already has a query {0}. Choose another queryId, or omit it.':
    '测试集中已有查询 {0}。请使用其他 queryId，或不提供。',
  'A test set has at most {0} queries. Delete some, or import fewer.':
    '一个测试集最多有 {0} 个查询。请删除一些，或减少导入。',
  'The test set of this knowledge base is empty. Add or import queries first.':
    '该知识库的测试集为空。请先添加或导入查询。',
  'The question is longer than {0} characters. Add a shorter query by hand.':
    '问题超过 {0} 个字符。请手工添加较短的查询。',
  'The answer cites nothing that this knowledge base still has. Choose the base of its sources, or add the query by hand.':
    '该回答引用的内容在此知识库中都已不存在。请选择其来源所在的知识库，或手工添加查询。',
  'In {0} queries: {1}': '{0} 个查询：{1}',
  'Only {0} fragments were retrieved, fewer than the {1} that are measured. Increase topK.':
    '只检索到 {0} 个片段，少于要衡量的 {1} 个。请增大 topK。',
  'Only the first {0} of {1} queries were measured.': '只衡量了 {1} 个查询中的前 {0} 个。',
  'expected must be a list': 'expected 必须是列表',
  'expected must not be empty': 'expected 不能为空',
  'expected has more than {0} entries': 'expected 超过 {0} 项',
  'each entry of expected must be an object': 'expected 的每一项都必须是对象',
  'Left out judgements without a document or fragment in this knowledge base: {0}.':
    '已略去在此知识库中没有对应文档或片段的判断：{0}。',
  Vector: '向量',
  Keyword: '关键词',
  'needs an _id of at most {0} characters and a text of at most {1}':
    '需要不超过 {0} 个字符的 _id 和不超过 {1} 个字符的文本',
  'is not query-id, corpus-id and a whole score, with tabs between them':
    '不是以制表符分隔的 query-id、corpus-id 和整数分数',
  'has a score above 3': '的分数大于 3',
  'is not a JSON object': '不是 JSON 对象',
  'The evaluation': '评估',
  'must not contain tabs or line breaks': '不能包含制表符或换行',
  'The test query': '测试查询',
  '{0} and {1} more': '{0}，另有 {1} 个',
};
