export const usage = {
  'The limit of {0} {1} for {2} is reached. Try again in {3} seconds.':
    '{2}的限额（{0} {1}）已达到。请在 {3} 秒后重试。',
  'What is left of the limit of {0} {1} for {2} is reserved by calls that are running. Try again in {3} seconds.':
    '{2}的限额（{0} {1}）的剩余部分已被正在运行的调用预留。请在 {3} 秒后重试。',
  'What is left of the limit of {0} {1} for {2} does not suffice for this call. Ask for a shorter answer, wait for the next period, or ask an administrator to raise the limit.':
    '{2}的限额（{0} {1}）的剩余部分不足以完成此次调用。请要求更短的回答，等待下一个周期，或联系管理员提高限额。',
  'There is a limit of this measure for the same scope already. Change that one.':
    '同一范围已有此度量的限额。请修改该限额。',
  'A tenant can have at most {0} limits. Remove one first.':
    '一个租户最多可有 {0} 个限额。请先删除一个。',
  '{0} must be absent for a limit of the scope {1}.': '范围为 {1} 的限额不能有 {0}。',
  'cap must be a whole number, unless it is a cost.': '除费用外，cap 必须是整数。',
  'groupBy must be one or two of {0}.': 'groupBy 必须是以下各项中的一项或两项：{0}。',
  '{0} has an entry twice': '{0} 有重复的条目',
  'each entry of {0} must be an object': '{0} 的每个条目必须是对象',
  'must be a code of three capital letters, such as EUR': '必须是三个大写字母的代码，例如 EUR',
  'must be a month such as 2026-01': '必须是月份，例如 2026-01',
  'The limit': '限额',
  'the tenant': '租户',
  'the user': '用户',
  'the API key': 'API 密钥',
  'the model': '模型',
  'the group': '用户组',
  'the tag': '标签',
  'tokens per minute': '词元/分钟',
  'concurrent calls': '个并发调用',
  'This call may use more than the limit of {0} {1} for {2} allows. Ask for a shorter answer, send less, or ask an administrator to raise the limit.':
    '此次调用可能超过{2}的限额（{0} {1}）。请要求更短的回答，减少发送的内容，或联系管理员提高限额。',
  'must be a tag: without commas, and without spaces around it':
    '必须是标签：不含逗号，前后没有空格',
  'requests per minute': '次请求/分钟',
  'tokens per day': '词元/天',
  'tokens per month': '词元/月',
  'cost per day': '费用/天',
  'cost per month': '费用/月',
};
