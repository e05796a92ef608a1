export const dictionary = {
  'Changes of the dictionary count at once. There is nothing to refresh.':
    '字典的更改立即生效，无需刷新。',
  'The dictionary type {0} already exists. Choose another dictType.':
    '字典类型 {0} 已存在。请使用其他 dictType。',
  '{0} already has an entry with the value {1}. Choose another dictValue.':
    '{0} 中已有值为 {1} 的条目。请使用其他 dictValue。',
  'There is no dictionary type {0}. Create it first, or choose another dictType.':
    '没有字典类型 {0}。请先创建，或使用其他 dictType。',
  'The entry {0} of {1} is built in: stored records use its value. Change its label or its sort instead.':
    '{1} 的条目 {0} 是内置的，已有记录在使用它的值。请改为修改其标签或排序。',
  'The dictionary type {0} is built in: its dictType cannot be changed. Change its dictName instead.':
    '字典类型 {0} 是内置的，不能修改其 dictType。请改为修改其 dictName。',
  'The dictionary type {0} still has entries. Delete them first.':
    '字典类型 {0} 中还有条目。请先删除这些条目。',
  'must begin with a lower-case letter and contain only a-z, 0-9 and _':
    '必须以小写字母开头，且只包含 a-z、0-9 和 _',
  'The dictionary type': '字典类型',
  'The dictionary entry': '字典条目',
};
