export const schedule = {
  'The schedule': '计划',
  'The time of the schedule': '计划的执行时间',
  'The time before had not ended.': '上一次执行尚未结束。',
  'A user can have at most {0} schedules. Delete one first.':
    '一个用户最多可有 {0} 个计划。请先删除一个。',
  'The schedule is at work already. Wait for the end of it, or stop it.':
    '该计划正在执行。请等待其结束，或先停止它。',
  'Schedules work with all rights of their owner, so an API key cannot change them. Sign in.':
    '计划以其所有者的全部权限执行，因此 API 密钥不能更改计划。请登录。',
  'Enter harnessSessionId: the session of the harness in which the runs begin.':
    '请填写 harnessSessionId：运行所在的编程会话。',
  'A schedule of the kind chat has agentId or knowledgeId, one of the kind run has harnessSessionId. Leave the others out.':
    '类型为 chat 的计划可有 agentId 或 knowledgeId，类型为 run 的计划有 harnessSessionId。请去掉其他字段。',
  'Enter cron for many times, or at for one.': '多次执行请填写 cron，仅一次请填写 at。',
  'at must be in the future.': 'at 必须是将来的时间。',
  'The service stopped three times during this work. Start it again.':
    '执行期间服务停止了三次。请重新执行。',
  'The service was stopped at this time.': '服务在该时间处于停止状态。',
  'The answer was stopped before its end. The chat has what was written.':
    '回答在结束前被停止。已写出的内容在对话中。',
  'The owner of the schedule is disabled, or may no longer do this. The permissions chat:schedule:add and, for runs, coding:harness:use are needed.':
    '计划的所有者已被停用，或不再有此权限。需要权限 chat:schedule:add，运行还需要 coding:harness:use。',
  'The work failed. The log has the reason; start it again.': '执行失败。原因见日志；请重新执行。',
};
