export const metadata = {
  '{0} has {1} characters as JSON. At most {2} are possible.':
    '{0} 的 JSON 有 {1} 个字符，最多允许 {2} 个。',
  '{0} must be an object. {1}.': '{0} 必须是对象。{1}。',
  '{0} must have nothing beside {1}. {2}.': '{0} 除 {1} 外不能有其他字段。{2}。',
  '{0} is too deep: and, or and not can be nested {1} deep.':
    '{0} 嵌套过深：and、or 和 not 最多可嵌套 {1} 层。',
  '{0} must be a list of at least one filter.': '{0} 必须是至少包含一个过滤条件的列表。',
  'filter has more than {0} conditions.': 'filter 超过 {0} 个条件。',
  '{0} has the unknown field {1}. {2}.': '{0} 有未知字段 {1}。{2}。',
  '{0}.op must be one of {1}.': '{0}.op 必须是以下之一：{1}。',
  '{0} must be a text, a number or a date such as 2026-01-31.':
    '{0} 必须是文本、数字或形如 2026-01-31 的日期。',
  '{0} must be a list of 1 to {1} values for {2}.': '使用 {2} 时，{0} 必须是 1 到 {1} 个值的列表。',
  '{0} must be a number or a date such as 2026-01-31 for {1}; texts have no order.':
    '使用 {1} 时，{0} 必须是数字或形如 2026-01-31 的日期；文本没有大小顺序。',
  '{0} must be true or false for exists.': '使用 exists 时，{0} 必须是 true 或 false。',
  'The filter fits more than {0} documents. Add a condition, or leave the filter out.':
    '该过滤条件匹配超过 {0} 个文档。请增加条件，或去掉过滤条件。',
  'You may read some documents of this knowledge base only, and those are more than {0}. Add a filter.':
    '您只能阅读该知识库的部分文档，而这些文档超过 {0} 个。请添加过滤条件。',
  'metadata must be an object of keys and values.': 'metadata 必须是由键和值组成的对象。',
  'metadata has {0} keys. At most {1} are possible.': 'metadata 有 {0} 个键，最多允许 {1} 个。',
  'metadata has {0} characters as JSON. At most {1} are possible.':
    'metadata 的 JSON 有 {0} 个字符，最多允许 {1} 个。',
  '{0} must be JSON. Check quotes and commas.': '{0} 必须是 JSON。请检查引号和逗号。',
  '{0} must be text.': '{0} 必须是文本。',
  '{0} is {1}. A key has at most {2} letters and digits of any script, dots, hyphens, underscores and inner spaces, and begins with a letter or digit.':
    '{0} 是 {1}。键最多包含 {2} 个任意文字的字母和数字、点、连字符、下划线和中间的空格，并以字母或数字开头。',
  '{0} is too large for a number.': '{0} 超出数字的范围。',
  '{0} must be a text, a number, a date such as 2026-01-31, or a list of texts.':
    '{0} 必须是文本、数字、形如 2026-01-31 的日期，或文本列表。',
  '{0} has {1} entries. At most {2} are possible.': '{0} 有 {1} 项，最多允许 {2} 项。',
  '{0} must not contain the NUL character.': '{0} 不能包含 NUL 字符。',
  '{0} has {1} characters. At most {2} are possible.': '{0} 有 {1} 个字符，最多允许 {2} 个。',
  '{0} is {1}, and there is no such date.': '{0} 是 {1}，没有这个日期。',
  'It is a condition {key, op, value}, or {and: […]}, {or: […]} or {not: …}':
    '它是条件 {key, op, value}，或 {and: […]}、{or: […]}、{not: …}',
  'a key of metadata': '元数据的键',
};
