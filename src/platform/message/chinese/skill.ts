export const skill = {
  'The path "{0}" {1}. Give the path of a file in the folder of the skill, for example references/guide.md.':
    '路径“{0}”{1}。请提供技能文件夹中的文件路径，例如 references/guide.md。',
  '{0} is larger than {1} bytes. Split it, or use a script of the skill that reads it in parts.':
    '{0} 超过 {1} 字节。请拆分，或使用技能中分段读取它的脚本。',
  '{0} is not UTF-8 text and cannot be shown. Convert it to UTF-8, or use it as a file without reading it.':
    '{0} 不是 UTF-8 文本，无法显示。请转换为 UTF-8，或不读取而直接作为文件使用。',
  'The frontmatter needs a name of 1 to 64 lower-case letters a-z, digits and hyphens that begins with a letter or digit.':
    'frontmatter 需要 name，由 1 到 64 个小写字母 a-z、数字和连字符组成，以字母或数字开头。',
  'Fields without effect: {0}.': '没有作用的字段：{0}。',
  'Other implementations refuse a name with -- or a trailing hyphen.':
    '其他实现会拒绝包含 -- 或以连字符结尾的名称。',
  'SKILL.md is not UTF-8. Save it as UTF-8.': 'SKILL.md 不是 UTF-8。请保存为 UTF-8。',
  'SKILL.md has no closed frontmatter. Start it with a line ---, then name and description, then another line ---.':
    'SKILL.md 没有完整的 frontmatter。请以一行 --- 开头，接着是 name 和 description，再以一行 --- 结束。',
  'The frontmatter is longer than {0} bytes. Move text into the body.':
    'frontmatter 超过 {0} 字节。请将文本移到正文。',
  'The frontmatter is not valid YAML and was read as plain text: quote its values.':
    'frontmatter 不是有效的 YAML，已按纯文本读取：请为其中的值加引号。',
  'The frontmatter is not valid YAML: {0}': 'frontmatter 不是有效的 YAML：{0}',
  'The frontmatter needs a description that says what the skill does and when to use it.':
    'frontmatter 需要 description，说明技能的作用和使用时机。',
  'The description has {0} characters; at most {1} are allowed. Shorten it.':
    'description 有 {0} 个字符，最多允许 {1} 个。请缩短。',
  'The description contains control characters. Remove them.':
    'description 包含控制字符。请将其移除。',
  '{0} has only {1} characters; offset {2} is behind its end. Give a smaller offset.':
    '{0} 只有 {1} 个字符，offset {2} 超出其末尾。请使用较小的 offset。',
  'The skill {0} is now named {1}. Load the skills again.':
    '技能 {0} 现在名为 {1}。请重新加载技能。',
  'It was removed, or its name is not valid UTF-8. Rename it.':
    '该文件已被删除，或其名称不是有效的 UTF-8。请重命名。',
  'It is a symbolic link, and links are not followed. Put the files here instead.':
    '这是符号链接，不会跟随。请将文件直接放在这里。',
  'It is not a folder. Put a folder of skills here.': '这不是文件夹。请在这里放置技能文件夹。',
  'It is not a regular file. Put the file here.': '这不是普通文件。请将文件放在这里。',
  'It is larger than {0} bytes. Move parts of it into other files.':
    '超过 {0} 字节。请将一部分移到其他文件。',
  'It cannot be read. Give the service permission to read it.': '无法读取。请授予服务读取权限。',
  'The scan has reached {0} files and folders. Move files that are not skills elsewhere.':
    '扫描已达到 {0} 个文件和文件夹。请将不是技能的文件移到其他位置。',
  'It is more than {0} folders deep. Move it up.': '位于 {0} 层以上的文件夹中。请上移。',
  'There is already a skill {0} in {1}. Give this one another name.':
    '{1} 中已有技能 {0}。请为此技能使用其他名称。',
  'Only {0} skills are read. Remove skills that are not used.':
    '只读取 {0} 个技能。请删除不用的技能。',
  'Name the folder {0}, like the skill.': '请将文件夹命名为 {0}，与技能同名。',
  'The scan for skills took longer than {0} s and ended here. Move files that are not skills elsewhere.':
    '扫描技能超过 {0} 秒，已在此处结束。请将不是技能的文件移到其他位置。',
  'It is inside the skill {0}, whose files are not looked through for skills. Move it beside that.':
    '它位于技能 {0} 的文件夹内，该文件夹中的其他技能不会被读取。请将它移到该技能旁边。',
  'A skill needs its own folder. Move the file into one.':
    '技能需要自己的文件夹。请将文件移到文件夹中。',
  'The file must be named {0}. Rename it.': '文件必须命名为 {0}。请重命名。',
  'It cannot be read ({0}). Check the file system.': '无法读取（{0}）。请检查文件系统。',
  'is empty': '为空',
  'is longer than {0} bytes': '超过 {0} 字节',
  'contains a control character': '包含控制字符',
  'contains a backslash; separate names with /': '包含反斜杠，请用 / 分隔名称',
  'is absolute': '是绝对路径',
  'contains ..': '包含 ..',
  'does not name a file': '没有指定文件',
  'contains a name of more than {0} bytes': '包含超过 {0} 字节的名称',
  'The file {0} of the skill {1}': '技能 {1} 的文件 {0}',
  'leads over a symbolic link': '经过符号链接',
  'does not name a regular file': '不是普通文件',
  'names a file that the service is not permitted to read': '指向服务无权读取的文件',
};
