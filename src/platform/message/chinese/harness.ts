export const harness = {
  'This approval is {0} already, so nothing was changed. Reload the run to see what came of it.':
    '该审批已是 {0} 状态，未做任何更改。请重新加载该运行以查看结果。',
  'expectedRevision or argumentsSha256 is not that of the approval, so nothing was decided. Reload it and review its arguments.':
    'expectedRevision 或 argumentsSha256 与该审批不符，未做任何决定。请重新加载并检查其参数。',
  'This must be asked for each time, so it cannot be approved for the session. Decide APPROVE or DENY.':
    '此操作每次都必须询问，不能为整个会话批准。请选择 APPROVE 或 DENY。',
  'The diffs of {0} files are cut or left out. Ask for them one by one with path.':
    '{0} 个文件的差异被截断或省略。请使用 path 逐个获取。',
  'These are {0} of {1} changed files. Ask for the others with pageNum.':
    '这里显示 {1} 个已更改文件中的 {0} 个。请使用 pageNum 获取其余文件。',
  'It is undone already.': '该更改已撤销。',
  'A run of the session is not finished.': '该会话还有运行未结束。',
  'The workspace was moved, removed or replaced.': '工作区已被移动、删除或替换。',
  'This tool call is {0}, not UNCERTAIN, so nothing was changed. Reload the effects of the run.':
    '该工具调用的状态是 {0}，不是 UNCERTAIN，未做任何更改。请重新加载该运行的副作用。',
  'You have {0} event streams of {1} open, which is the limit. Close one and try again.':
    '您已打开 {0} 个{1}的事件流，达到上限。请关闭一个后再试。',
  'Last-Event-ID is not the number of an event. Send the id of the last event that you have, or leave it out.':
    'Last-Event-ID 不是事件编号。请发送最后收到的事件的 id，或不发送。',
  'The run is {0} already. Send a FOLLOW_UP, or start a new run.':
    '该运行已是 {0} 状态。请发送 FOLLOW_UP，或开始新的运行。',
  'The run has not yet taken in what was said to it, and no more than {0} may wait. Say it again when the run has gone on.':
    '该运行尚未处理之前的输入，最多允许 {0}等待。请在运行继续后再发送。',
  'The run is {0}. Only a run that is SUSPENDED because its model service was unavailable can be resumed.':
    '该运行的状态是 {0}。只有因模型服务不可用而处于 SUSPENDED 状态的运行才能恢复。',
  'The run has uncertain tool calls. Resolve each of them, or cancel the run.':
    '该运行有结果不确定的工具调用。请逐个处理，或取消运行。',
  'runs must be a list. Send an empty one to follow no run':
    'runs 必须是列表。不关注任何运行时请发送空列表',
  'runs has more than {0} entries': 'runs 超过 {0} 项',
  'each entry of runs must be an object': 'runs 的每一项都必须是对象',
  'images must be a list': 'images 必须是列表',
  'images has more than {0} entries': 'images 超过 {0} 项',
  'each entry of images must be an object': 'images 的每一项都必须是对象',
  'budget must be an object': 'budget 必须是对象',
  'The images have {0} bytes together, and may have {1}. Send fewer or smaller ones.':
    '图片合计 {0} 字节，最多允许 {1} 字节。请减少图片或发送较小的图片。',
  'images[{0}].dataUrl {1}.': 'images[{0}].dataUrl {1}。',
  'permissionMode of a run can only narrow that of its session, which is {0}; {1} is wider. Leave it out, choose a narrower one, or create a session with {2}.':
    '运行的 permissionMode 只能比会话的更窄，会话的是 {0}，而 {1} 更宽。请不要提供、选择更窄的模式，或使用 {2} 创建会话。',
  'A run of this session is not finished. Wait for it, steer it, or cancel it first.':
    '该会话有运行尚未结束。请等待、引导或先取消该运行。',
  'Too many runs wait for a free place. Try again in a few seconds.':
    '等待空位的运行过多。请几秒后再试。',
  'The images have more than a run may keep. Send fewer or smaller ones.':
    '图片超过一次运行可保存的大小。请减少图片或发送较小的图片。',
  'The model {0} cannot see images. Leave them out, or use a session with another model.':
    '模型 {0} 不能读取图片。请去掉图片，或使用其他模型的会话。',
  'Whether the model {0} can call tools could not be tried. {1}':
    '无法确认模型 {0} 能否调用工具。{1}',
  'The model {0} does not call tools, which the harness needs. Choose another chat model, or set its supportsTools if this is wrong.':
    '模型 {0} 不会调用工具，而编码助手需要工具。请选择其他对话模型；如果设置有误，请修改其 supportsTools。',
  'The workspace has so many files that commands are refused until it has fewer.':
    '工作区的文件过多，减少之前将拒绝执行命令。',
  'Changes of {0} could not be undone: they are larger than 2 MiB, or beyond the first 20,000 files and 500 MiB of the workspace.':
    '{0}的更改将无法撤销：它们超过 2 MiB，或超出工作区的前 20,000 个文件和 500 MiB。',
  '{0} The conversation was compacted and is still too long. Start a new run with a smaller task or fewer files at once, or with a model of a larger window.':
    '{0}对话已压缩，但仍然过长。请以更小的任务或更少的文件开始新的运行，或使用窗口更大的模型。',
  'About {0} tokens would have to be sent to the model, and its window takes {1}. Start a new run with a smaller task, fewer files at once or shorter skills, or with a model of a larger window.':
    '需要发送给模型约 {0} 个词元，而其窗口只能容纳 {1} 个。请开始新的运行：缩小任务、减少一次涉及的文件、缩短技能，或使用窗口更大的模型。',
  'The text holds a NUL character. Save the file as plain text.':
    '文本中包含 NUL 字符。请将文件另存为纯文本。',
  'Reading the skills took too long. Try again.': '读取技能耗时过长。请重试。',
  'The server stopped in the middle of a tool call, and its outcome is unknown. Check the workspace, then resolve the call as executed or not executed.':
    '服务器在工具调用中途停止，其结果未知。请检查工作区，然后将该调用标记为已执行或未执行。',
  'A tool call was not approved in time. Start a new run to continue.':
    '工具调用未在规定时间内获得批准。请开始新的运行以继续。',
  'Changes made so far are kept; start a new run to continue.':
    '目前的更改会保留；请开始新的运行以继续。',
  'The run has reached its limit of {0} {1}.': '该运行已达到上限：{0} {1}。',
  'The model gave too many answers in a row that cannot be used.':
    '模型连续多次给出无法使用的回答。',
  'Another model may do better.': '更换模型可能会更好。',
  'The model kept calling tools that were not offered to it, and each call was refused. Changes and commands need an approved plan and a permission mode that allows them.':
    '模型一再调用未提供给它的工具，每次调用都被拒绝。更改文件和执行命令需要已批准的计划，以及允许这些操作的权限模式。',
  'The model repeats the same calls without progress.': '模型重复相同的调用，没有进展。',
  'What the run did is kept: resume it when you have access again.':
    '运行已完成的内容会保留：重新获得访问权限后即可恢复运行。',
  'The user no longer has the permission for this run. Ask an administrator, then start a new run.':
    '该用户已没有此运行所需的权限。请联系管理员，然后开始新的运行。',
  'The run failed because of an internal error; see the server log for run {0}. Changes made so far are kept and can be undone; start a new run to continue.':
    '该运行因内部错误失败，详见服务器日志中的运行 {0}。目前的更改会保留并可以撤销；请开始新的运行以继续。',
  'The server was lost several times while it worked on this run. What was done stays; start a new run to go on.':
    '服务器在处理此运行时多次中断。已完成的工作会保留；请开始新的运行以继续。',
  '{0} file(s) conflict with the {1}, and nothing was changed. Resolve the conflicts, or send force to leave these files out.':
    '{0} 个文件与{1}冲突，未做任何更改。请解决冲突，或发送 force 以跳过这些文件。',
  'Every file of the {0} conflicts ({1}), and nothing was changed. force leaves out files that conflict, and no other is left. Resolve the conflicts.':
    '{0}涉及的所有文件都有冲突（{1} 个），未做任何更改。force 会跳过有冲突的文件，但没有其他文件可处理。请解决冲突。',
  'The file was changed since. Its present content would be lost.':
    '该文件之后又被修改过，其当前内容会丢失。',
  'The file was changed by others between two changes of the run; undoing further would lose that change.':
    '在该运行的两次更改之间，文件被其他程序修改过；继续撤销会丢失那次修改。',
  'Later changes of a file are undone first, and earlier ones are redone first. Name all of them in one request.':
    '撤销时先撤销文件较晚的更改，重做时先重做较早的更改。请在一个请求中列出全部更改。',
  'The content before the change was not kept, because it is a secret or too large.':
    '更改前的内容没有保存，因为它是机密或过大。',
  'The kept content was lost or is damaged.': '保存的内容已丢失或损坏。',
  'A symbolic link is on the path or in the place of the file. Remove it first.':
    '路径上或文件所在位置有符号链接。请先移除。',
  'The file has a second name (a hard link), so a change could reach a file elsewhere.':
    '该文件有另一个名称（硬链接），更改可能会影响其他位置的文件。',
  'Its path holds something other than a file. Move it away first.': '该路径上不是文件。请先移走。',
  'The file is larger than 64 MiB now, and such files are not compared. Move it away first.':
    '该文件现在超过 64 MiB，不会进行比较。请先移走。',
  'The service cannot read the file or its folder. Correct their permissions, or move them away first.':
    '服务无法读取该文件或其文件夹。请修正权限，或先移走。',
  'The file belongs to git and is never changed.': '该文件属于 git，不会被更改。',
  'Checking the changed files took too long, and this file was not checked. Undo its changes alone.':
    '检查已更改的文件耗时过长，未检查该文件。请单独撤销其更改。',
  'There is nothing to undo: the run has changed no file, or all of it is undone already.':
    '没有可撤销的内容：该运行没有更改文件，或已全部撤销。',
  'There is nothing to redo: no change of the run is undone.':
    '没有可重做的内容：该运行没有被撤销的更改。',
  'Keeping the present files took too long, and nothing was changed. Name fewer changes with changeIds.':
    '保存当前文件耗时过长，未做任何更改。请使用 changeIds 指定较少的更改。',
  'Another run uses this workspace, or what an interrupted command has left there is still to be removed. Try again when that is done.':
    '另一个运行正在使用该工作区，或中断的命令留下的内容尚未清理。请在完成后再试。',
  'The {0} was executed only in part: {1}. Check these files; the effects of the run show it as uncertain.':
    '{0}只执行了一部分：{1}。请检查这些文件；该运行的副作用会将其显示为不确定。',
  'A run of this session is not finished. Wait for it, or cancel it first.':
    '该会话有运行尚未结束。请等待，或先取消该运行。',
  'Another undo of this run is in progress. Try again when it has ended.':
    '该运行的另一次撤销正在进行。请在其结束后再试。',
  'The changes were undone or redone meanwhile. Reload them.':
    '这些更改在此期间已被撤销或重做。请重新加载。',
  'No plan of this run waits for a review, so nothing was changed. Reload the run to see what was decided.':
    '该运行没有等待审查的计划，未做任何更改。请重新加载该运行以查看决定。',
  'taskId, expectedRevision or expectedHash is not that of the plan, so nothing was decided. Reload it and review it again.':
    'taskId、expectedRevision 或 expectedHash 与该计划不符，未做任何决定。请重新加载并再次审查。',
  'This is version {0}, the last one that a run may have. Approve it, or cancel the run and start a new one.':
    '这是第 {0} 版，也是一次运行允许的最后一版。请批准，或取消运行并开始新的运行。',
  'You need the permission {0}, because this is {1}. Ask an administrator for it, or use permissionMode READ_ONLY.':
    '您需要权限 {0}，因为这里是 {1}。请联系管理员授予，或使用 permissionMode READ_ONLY。',
  'An administrator has stopped harness writes. Use a READ_ONLY session, or try again later.':
    '管理员已停止编码助手的写操作。请使用 READ_ONLY 会话，或稍后再试。',
  'This idempotencyKey was used with another request. Send a new key with a new request.':
    '此 idempotencyKey 已用于另一个请求。发送新请求请使用新的键。',
  'The session is deleted. Restore it first.': '该会话已删除。请先恢复。',
  'There are several folders with workspaces. Say with workspacePath which one to work in.':
    '有多个工作区文件夹。请通过 workspacePath 指定使用哪一个。',
  'No folder for workspaces is set up for this tenant. Ask the operator to set HARNESS_ROOTS, for example to 000000=/srv/workspaces.':
    '该租户没有设置工作区文件夹。请联系运维人员设置 HARNESS_ROOTS，例如 000000=/srv/workspaces。',
  'A workspace cannot be a folder of settings or secrets such as {0}. Choose the folder that holds the project.':
    '工作区不能是 {0} 这样的设置或机密文件夹。请选择项目所在的文件夹。',
  'A workspace cannot be, hold or lie in {0}. Choose the folder of one project.':
    '工作区不能是 {0}，也不能包含它或位于其中。请选择单个项目的文件夹。',
  'The workspace was moved, removed or replaced since the session was made. Put it back, or make a new session.':
    '会话创建后，工作区被移动、删除或替换。请恢复原状，或创建新的会话。',
  'The workspace was not found. Give the path of a folder below a root that the operator has set up for you (HARNESS_ROOTS).':
    '未找到工作区。请提供运维人员为您设置的根目录（HARNESS_ROOTS）下的文件夹路径。',
  'The approval': '审批',
  'The grant': '授权',
  'The artifact': '产物',
  'The tool call': '工具调用',
  'The record': '记录',
  'this run': '此运行',
  runs: '运行',
  'must be a UUID': '必须是 UUID',
  'must be 64 hex digits': '必须是 64 位十六进制数字',
  '{0} inputs': '{0} 条输入',
  '{0} bytes': '{0} 字节',
  'must be a base64 data URL of image/png, image/jpeg, image/gif or image/webp':
    '必须是 image/png、image/jpeg、image/gif 或 image/webp 的 base64 data URL',
  'is not base64 throughout': '不是完整的 base64',
  'says {0}, but holds {1}': '声明为 {0}，实际是 {1}',
  '1 file': '1 个文件',
  '{0} files': '{0} 个文件',
  'model calls': '次模型调用',
  'tool calls': '次工具调用',
  'input tokens': '个输入词元',
  'output tokens': '个输出词元',
  'milliseconds of work': '毫秒工作时间',
  undo: '撤销',
  redo: '重做',
  'The change': '更改',
  'The run': '运行',
  'The session': '会话',
};
