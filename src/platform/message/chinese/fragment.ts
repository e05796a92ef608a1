export const fragment = {
  'Keyword search finds the fragment from now on, vector search does not. Parsing the document again replaces it.':
    '从现在起，关键词检索可以找到该片段，向量检索则不能。重新解析文档会替换该片段。',
  'Keyword search uses the new text from now on, vector search still the old one. Parsing the document again replaces it.':
    '从现在起，关键词检索使用新文本，向量检索仍使用旧文本。重新解析文档会替换该片段。',
  'docId or attachId is required: which document it is added to.':
    'docId 和 attachId 须填写其一：片段属于哪个文档。',
  'content must not be empty.': 'content 不能为空。',
  'The fragment': '片段',
};
