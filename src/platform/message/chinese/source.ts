export const source = {
  'The source': '来源',
  'The source {0} belongs to a connector, which alone puts its documents. Choose another name of a source.':
    '来源 {0} 属于连接器，只有该连接器可以提交其文档。请选择其他来源名称。',
  'The cursor names no open run of this source: it is unknown, or another run has replaced it. Begin a run, put every document again and complete that one.':
    '该 cursor 不对应此来源的进行中的运行：它不存在，或已被另一次运行取代。请开始新的运行，重新提交所有文档，然后完成该运行。',
  'The run has seen none of the {0} documents of the source, so nothing was removed. If all of them are to be removed, send allowEmpty: true.':
    '该运行没有提交此来源的 {0} 个文档中的任何一个，因此未删除任何文档。如果确实要删除全部文档，请发送 allowEmpty: true。',
  'acl must be an object: {"public": true}, or users and groups as lists of at most {0} names together.':
    'acl 必须是对象：{"public": true}，或 users 和 groups 两个名称列表，合计最多 {0} 个。',
  'Send one content: a part named file, text or address.':
    '请只发送一种内容：名为 file 的部分、text 或 address。',
  'The id of the document at its source must have 1 to {0} bytes.':
    '文档在来源中的 id 必须为 1 到 {0} 字节。',
  'The address answered with status {0}. Check that it opens without a sign-in, and enter its final address.':
    '该地址返回状态 {0}。请确认无需登录即可打开，并填写最终地址。',
  'There is a source {0} of the kind {1}. Choose another name, or delete it.':
    '已存在类型为 {1} 的来源 {0}。请选择其他名称，或先删除它。',
  'A program puts the documents of the source {0}. Run that program.':
    '来源 {0} 的文档由外部程序提交。请运行该程序。',
  'The source is running already. Wait until the run has ended.':
    '该来源正在运行。请等待运行结束。',
  'The owner of the source is disabled or deleted, or may no longer change documents of the base. One who may saves the source again.':
    '该来源的所有者已被停用或删除，或不再有权更改此知识库的文档。请由有权限的用户重新保存该来源。',
  'The service stopped three times during this run. Run it again, or narrow the source.':
    '服务在此次运行期间停止了三次。请重新运行，或缩小来源范围。',
  'A limit of the source was reached, so no document was removed. Raise it, or narrow the source.':
    '已达到来源的限制，因此未删除任何文档。请提高限制，或缩小来源范围。',
  'The run failed. The log has the reason; run it again.': '运行失败。原因见日志；请重新运行。',
  'The repository could not be read ({0}). Check its address, the branch and the token.':
    '无法读取仓库（{0}）。请检查地址、分支和令牌。',
  'The bucket could not be read ({0}). Check its address and region, the access key, and its rights to list and read.':
    '无法读取存储桶（{0}）。请检查地址和区域、访问密钥及其列出和读取的权限。',
  'The address of a bucket is that of its server with the name of the bucket, such as https://s3.eu-central-1.amazonaws.com/handbook. Name a folder in its own field.':
    '存储桶的地址由服务器地址和存储桶名称组成，例如 https://s3.eu-central-1.amazonaws.com/handbook。目录请填写在单独的字段中。',
  'The token of a bucket is its access key id and secret, joined by a colon.':
    '存储桶的令牌由访问密钥 ID 和密钥用冒号连接而成。',
};
