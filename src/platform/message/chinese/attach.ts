export const attach = {
  'Knowledge bases whose vectors are in {0}: {1}. New ones go to {2}. Save a knowledge base with reindex: true to move it.':
    '向量保存在 {0} 中的知识库：{1} 个。新知识库使用 {2}。以 reindex: true 保存知识库即可迁移。',
  'Knowledge bases whose vectors are in {0}, which this installation does not run: {1}. Set it up again, or save them with reindex: true.':
    '向量保存在 {0} 中而此安装未运行该向量库的知识库：{1} 个。请重新配置，或以 reindex: true 保存这些知识库。',
  'This file was already uploaded to the knowledge base{0}. Do not upload it twice; to read it again, parse the existing document.':
    '该文件已上传到此知识库{0}。请勿重复上传；如需重新读取，请重新解析已有的文档。',
  'The document is neither being parsed nor waiting to be parsed, so there is nothing to cancel.':
    '该文档既没有在解析，也没有在等待解析，无需取消。',
  '{0} of {1} files were not stored.': '{1} 个文件中有 {0} 个未能保存。',
  '{0}: {1}': '{0}：{1}',
  'content is required: the text of the document. A document that is a file begins with an upload.':
    '必须填写 content（文档正文）。文件类型的文档请通过上传创建。',
  'name must not be empty.': 'name 不能为空。',
  'The document is being parsed already.': '该文档已在解析中。',
  '1 fragment that was written by hand is replaced.': '1 个手工编写的片段将被替换。',
  '{0} fragments that were written by hand are replaced.': '{0} 个手工编写的片段将被替换。',
  'Parsing has not been asked for.': '尚未请求解析。',
  '1 document is before it.': '前面还有 1 个文档。',
  '{0} documents are before it.': '前面还有 {0} 个文档。',
  'Its pages could not be read twice alike.': '两次读取的页面内容不一致。',
  '{0} of {1} pages of the document are images, the limit of text recognition is {2}. Split it into several files.':
    '文档共 {1} 页，其中 {0} 页是图片，文字识别的上限是 {2} 页。请拆分为多个文件。',
  'Parsing the document takes more than {0} MiB of memory, which is the limit (PARSE_MEMORY_MB). Split it into smaller ones, or ask the operator to raise the limit.':
    '解析该文档需要的内存超过上限 {0} MiB（PARSE_MEMORY_MB）。请拆分为更小的文档，或联系运维人员提高上限。',
  'Parsing the document takes longer than {0} s, which is the limit. Split it into smaller ones.':
    '解析该文档的时间超过上限 {0} 秒。请拆分为更小的文档。',
  'Archives are not supported. Unpack it and upload the documents in it.':
    '不支持压缩包。请解压后上传其中的文档。',
  'Audio and video files are not supported. Upload a transcript instead.':
    '不支持音频和视频文件。请改为上传文字稿。',
  'Images are not supported, since they hold no text. Run OCR (text recognition) over it and upload the resulting PDF.':
    '不支持图片，因为其中没有文本。请先进行 OCR（文字识别），再上传生成的 PDF。',
  'Images of this format are not read. Save it as PNG, JPEG or WebP, or run OCR (text recognition) over it and upload the resulting PDF.':
    '不支持读取这种格式的图片。请另存为 PNG、JPEG 或 WebP，或先进行 OCR（文字识别），再上传生成的 PDF。',
  'Images are read only by text recognition (OCR), which is off. Switch it on (enableOcr) in the settings of the knowledge base, or run OCR over the image and upload the resulting PDF.':
    '图片只能通过文字识别（OCR）读取，而该功能已关闭。请在知识库设置中开启（enableOcr），或先对图片进行 OCR，再上传生成的 PDF。',
  'This is an old binary Office format, which is not supported. Open it, save it as .docx, .xlsx or PDF and upload that.':
    '这是旧版二进制 Office 格式，不受支持。请打开并另存为 .docx、.xlsx 或 PDF 后上传。',
  'OpenDocument files other than texts, spreadsheets and presentations are not supported. Export it as PDF and upload that.':
    '除文本文档、电子表格和演示文稿外，不支持其他 OpenDocument 文件。请导出为 PDF 后上传。',
  'The presentation has no list of its slides; it is damaged. Open it, save it again and upload the result.':
    '演示文稿中没有幻灯片列表，文件已损坏。请打开并重新保存，然后上传保存后的文件。',
  'LibreOffice cannot read the document; it is damaged, protected by a password or of a format that it does not know. Open it, save it as .docx, .xlsx or PDF and upload the result.':
    'LibreOffice 无法读取该文档：文档已损坏、受密码保护，或其格式未知。请打开并另存为 .docx、.xlsx 或 PDF，然后上传保存后的文件。',
  'The part {0} has {1} MiB, the limit is {2} MiB. Split the document into smaller ones.':
    '文件的部件 {0} 有 {1} MiB，上限是 {2} MiB。请将文档拆分为更小的文档。',
  'The file is protected by a password. Open it, remove the password (File > Info > Protect) and upload it again.':
    '该文件受密码保护。请打开文件，移除密码（文件 > 信息 > 保护）后重新上传。',
  'The file is damaged: its part {0} is missing. Open it, save it again and upload the result.':
    '文件已损坏：缺少部件 {0}。请打开并重新保存，然后上传保存后的文件。',
  'The file holds {0} packed parts, the limit is {1}. Split the document into smaller ones.':
    '文件包含 {0} 个压缩部件，上限是 {1} 个。请将文档拆分为更小的文档。',
  'Unpacked, the file has {0} MiB, the limit is {1} MiB. Split the document into smaller ones.':
    '文件解压后有 {0} MiB，上限是 {1} MiB。请将文档拆分为更小的文档。',
  'The file is damaged, or its upload was cut off{0}. Open it, save it again and upload the result.':
    '文件已损坏，或上传未完成{0}。请打开并重新保存，然后上传保存后的文件。',
  'The {0} has {1} {2}, the limit is {3}. Split it into several files.':
    '{0}共有 {1} {2}，上限是 {3}。请拆分为多个文件。',
  'The document is nested too deeply. Save it in a simpler form and upload that.':
    '文档嵌套过深。请以更简单的格式保存后上传。',
  'The mail cannot be read: its headers are too large, or its parts are nested too deeply. Save it again, without attached messages, and upload the result.':
    '无法读取该邮件：邮件头过大，或各部分嵌套过深。请去掉附带的邮件后重新保存并上传。',
  'The EPUB book has no list of its chapters; it is damaged. Open it, save it again and upload the result.':
    '该 EPUB 电子书没有章节列表，文件已损坏。请打开并重新保存，然后上传保存后的文件。',
  'The book is protected against copying (DRM), so that only the reader of its shop can open it. Upload a copy without protection.':
    '该电子书有版权保护（DRM），只能用其商店的阅读器打开。请上传没有保护的副本。',
  'Text recognition found no text in the image. Upload one that holds text.':
    '文字识别在图片中没有找到文本。请上传包含文本的图片。',
  'An image holds no text by itself. Switch on text recognition (enableOcr) in the settings of the knowledge base and parse the document again, or run OCR over the image and upload the resulting PDF.':
    '图片本身不包含文本。请在知识库设置中开启文字识别（enableOcr）并重新解析文档，或先对图片进行 OCR，再上传生成的 PDF。',
  'This is not {0}; it looks like {1}. Delete the document and upload the real file, or upload this one with a name that ends in {2}.':
    '这不是{0}，看起来是{1}。请删除该文档并上传正确的文件，或将此文件的后缀名改为 {2} 后上传。',
  'This is not {0}, or it is damaged: it looks like binary data of an unknown format. Open the file, save it again and upload the result.':
    '这不是{0}，或文件已损坏：看起来是格式未知的二进制数据。请打开并重新保存，然后上传保存后的文件。',
  'The image of page {0} is compressed as JBIG2, CCITT fax or JPEG 2000, which cannot be decoded here. Export the pages as PNG or JPEG, or run OCR over the PDF, and upload the result.':
    '第 {0} 页的图片采用 JBIG2、CCITT 传真或 JPEG 2000 压缩，无法解码。请将页面导出为 PNG 或 JPEG，或对 PDF 进行 OCR，再上传生成的文件。',
  'No page of the PDF holds text that can be read; it probably consists of scanned images. Switch on text recognition (enableOcr) in the settings of the knowledge base and parse the document again, or run OCR over it and upload the result.':
    '该 PDF 的任何一页都没有可读取的文本，可能是扫描件。请在知识库设置中开启文字识别（enableOcr）并重新解析文档，或先进行 OCR，再上传生成的文件。',
  'Text recognition found no text on any page of the PDF. Upload one that holds text.':
    '文字识别在该 PDF 的任何一页都没有找到文本。请上传包含文本的文件。',
  'The PDF is protected by a password. Remove the password (print or export it as a new PDF) and upload that.':
    '该 PDF 受密码保护。请移除密码（打印或导出为新的 PDF）后上传。',
  'The document holds no text. Upload one that does.': '文档中没有文本。请上传包含文本的文档。',
  'The file is not text but binary data of an unknown format. Save it as text, PDF, .docx or .xlsx and upload that.':
    '该文件不是文本，而是格式未知的二进制数据。请另存为文本、PDF、.docx 或 .xlsx 后上传。',
  'The file defines XML entities, which documents of this format never do. Open it, save it again and upload the result.':
    '文件中定义了 XML 实体，而这种格式的文档不会使用实体。请打开并重新保存，然后上传保存后的文件。',
  'The file is damaged: its XML is not well-formed. Open it, save it again and upload the result.':
    '文件已损坏：其中的 XML 格式不正确。请打开并重新保存，然后上传保存后的文件。',
  'The file is an archive. Unpack it and upload the documents in it.':
    '该文件是压缩包。请解压后上传其中的文档。',
  'The document cannot be read; it is damaged or not what its name says. Open it, save it again and upload the result.':
    '无法读取该文档：文件已损坏，或与其文件名不符。请打开并重新保存，然后上传保存后的文件。',
  'The document splits into {0} fragments, the limit is {1}. Raise the text block size of the knowledge base, or split the document.':
    '该文档被切分为 {0} 个片段，上限是 {1} 个。请增大知识库的文本块大小，或拆分文档。',
  'Its vectors were lost and are made again.': '其向量已丢失，正在重新生成。',
  'The user who asked for the parsing may no longer act here. Ask for it again as another user.':
    '请求解析的用户已没有操作权限。请由其他用户重新请求。',
  'The source file was not found for an hour: {0}. Ask the operator to check that both use the same DATA_DIR or STORAGE_URL, then parse the document again.':
    '一小时内未找到源文件：{0}。请联系运维人员检查两个进程是否使用同一个 DATA_DIR 或 STORAGE_URL，然后重新解析文档。',
  'The source file is not found: {0}.': '未找到源文件：{0}。',
  'The source file is no longer there. Delete the document and upload it again.':
    '源文件已不存在。请删除该文档后重新上传。',
  'The model {0} wrote no context for fragment {1}. Choose another contextModel in the settings of the knowledge base, or clear it.':
    '模型 {0} 没有为片段 {1} 生成上下文。请在知识库设置中更换 contextModel，或将其清空。',
  'Only {0} of {1} vectors are in the vector store. Parse the document again; if the problem persists, check the store.':
    '向量库中只有 {0} 个向量，应有 {1} 个。请重新解析文档；如果问题仍然存在，请检查向量库。',
  'Parsing was cancelled. Parse the document again when you want it.':
    '解析已取消。需要时请重新解析该文档。',
  'The service stopped three times while it parsed this document. Parse it again, or split the file into smaller ones.':
    '解析该文档时服务停止了三次。请重新解析，或将文件拆分为更小的文件。',
  'The settings of the knowledge base have changed.': '知识库的设置已更改。',
  'The service is restarting.': '服务正在重启。',
  'Attempt {0} of {1}.': '第 {0} 次尝试，共 {1} 次。',
  'The document could not be parsed because of an error of the service (see its log for document {0}). Parse it again.':
    '由于服务出错，未能解析该文档（详见日志中的文档 {0}）。请重新解析。',
  'The document has pages without text that text recognition would read ({0}), which a preview does not do. Parse the document to see its fragments.':
    '该文档有没有文本的页面，需要文字识别才能读取（{0}），预览不进行文字识别。请解析文档以查看其片段。',
  'The model {0} does not read images. Choose a chat model with supportsVision as the ocrModel of the knowledge base, or set supportsVision of this one if it does.':
    '模型 {0} 不能读取图片。请选择支持图片（supportsVision）的对话模型作为知识库的 ocrModel；如果该模型实际支持，请设置其 supportsVision。',
  'Text recognition without a model needs the program tesseract, which is not installed where documents are parsed. Choose a chat model with supportsVision as the ocrModel of the knowledge base, or ask the operator to install tesseract.':
    '不使用模型的文字识别需要 tesseract 程序，而解析文档的机器上没有安装。请选择支持图片（supportsVision）的对话模型作为知识库的 ocrModel，或联系运维人员安装 tesseract。',
  'tesseract could not read page {0}: {1} Ask the operator to check OCR_LANGUAGES and the installation of tesseract.':
    'tesseract 无法读取第 {0} 页：{1}请联系运维人员检查 OCR_LANGUAGES 和 tesseract 的安装。',
  'Reading page {0} took longer than {1} s, which is the limit. Upload the page at a lower resolution.':
    '读取第 {0} 页的时间超过上限 {1} 秒。请上传分辨率较低的页面。',
  'The answer of the model {0} for page {1} ended at its token limit. Raise maxOutput of the model, or choose another ocrModel.':
    '模型 {0} 对第 {1} 页的回答达到了词元上限。请增大该模型的 maxOutput，或更换 ocrModel。',
  'it ended without a reason.': '程序已退出，没有给出原因。',
  ' as {0}': '（{0}）',
  'The document': '文档',
  'The file': '文件',
  'it holds no file': '其中没有文件',
  book: '电子书',
  chapters: '章',
  'a PDF': 'PDF',
  'a Word document': 'Word 文档',
  'an Excel workbook': 'Excel 工作簿',
  'a PowerPoint presentation': 'PowerPoint 演示文稿',
  'an OpenDocument file': 'OpenDocument 文件',
  'an Outlook message': 'Outlook 邮件',
  'a rich text document': 'RTF 文档',
  'an EPUB book': 'EPUB 电子书',
  'an archive': '压缩包',
  'an image': '图片',
  'an audio file': '音频文件',
  'a video file': '视频文件',
  HTML: 'HTML',
  XML: 'XML',
  JSON: 'JSON',
  'a table of separated values (CSV)': '分隔符表格（CSV）',
  'plain text': '纯文本',
  PDF: 'PDF',
  pages: '页',
  presentation: '演示文稿',
  slides: '张幻灯片',
};
