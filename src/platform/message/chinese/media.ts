export const media = {
  'The file {0} is no image that can be read. Send png, jpeg, webp or gif.':
    '文件 {0} 不是可读取的图片。请发送 png、jpeg、webp 或 gif。',
  'The file is no sound that can be read. Send wav, mp3, m4a, mp4, ogg, webm, flac, aac, aiff or amr.':
    '该文件不是可读取的声音。请发送 wav、mp3、m4a、mp4、ogg、webm、flac、aac、aiff 或 amr。',
  'The provider ended the task {0} without a result. Try again, or choose another model.':
    '供应商结束了任务 {0}，但没有结果。请重试，或选择其他模型。',
  'The provider did not finish the task {0} in time. Look it up later with GET /media/prediction.':
    '供应商未能及时完成任务 {0}。请稍后用 GET /media/prediction 查询。',
  'The task has no content: its status is {0}. There is content once it is completed.':
    '该任务没有内容，其状态是 {0}。任务完成后才有内容。',
  'Too many media resources are being fetched at the moment. Try again in a minute.':
    '目前获取的媒体资源过多。请一分钟后再试。',
  'The resource’s address is refused: it must be https, with a plain host name and without user name, fragment and white space.':
    '资源的地址被拒绝：必须是 https，使用普通主机名，且不含用户名、片段标识和空白字符。',
  'The resource’s address is refused: its port must be 443.': '资源的地址被拒绝：端口必须是 443。',
  'The resource’s address is refused: its host is not the one for category {0}. An operator sets it with MEDIA_CONTENT_HOSTS.':
    '资源的地址被拒绝：其主机不是 {0} 类别的主机。运维人员可通过 MEDIA_CONTENT_HOSTS 设置。',
  'The resource is not declared as a type of category {0}, which are {1}.':
    '资源未声明为 {0} 类别的类型，允许的类型：{1}。',
  'The resource is declared as {0}, but its first bytes are of something else.':
    '资源声明为 {0}，但其开头的字节不符。',
  'The resource was moved, and redirects are not followed.': '资源已被移动，不会跟随重定向。',
  'The resource’s host could not be reached in time. Try again.':
    '未能及时连接资源的主机。请重试。',
  'The resource’s host sent nothing for too long. Try again.':
    '资源的主机过久没有发送数据。请重试。',
  'Fetching the resource took too long. Try again.': '获取资源耗时过长。请重试。',
  'The proxy could not reach the resource’s host. Check HTTPS_PROXY and what the proxy allows.':
    '代理无法连接资源主机。请检查 HTTPS_PROXY 以及代理允许的地址。',
  'The certificate of the resource’s host could not be verified.': '无法验证资源主机的证书。',
  'The resource’s host answered {0}. The resource may have expired; look the task up again.':
    '资源的主机返回 {0}。资源可能已过期，请重新查询任务。',
  'The resource’s host leads to an address that must not be called.':
    '资源的主机指向禁止调用的地址。',
  'The resource could not be fetched. Try again.': '无法获取资源。请重试。',
  'The provider answered another task than the one asked for.': '供应商返回的不是所请求的任务。',
  'The task is completed, but the provider named no resource.':
    '任务已完成，但供应商没有给出资源。',
  'The resource is empty.': '资源为空。',
  'The resource is larger than 64 MiB.': '资源超过 64 MiB。',
  '{0} must not be empty': '{0} 不能为空',
  'predictionId must not be empty': 'predictionId 不能为空',
  'The media request failed. Check the model, or try again; if it persists, report request {0}.':
    '媒体请求失败。请检查模型或重试；如果问题仍然存在，请提供请求编号 {0}。',
  'Unsupported model category: models of the provider {0} cannot be called for {1}. Choose a model of another provider.':
    '不支持的模型类别：供应商 {0} 的模型不能用于{1}。请选择其他供应商的模型。',
  'The model {0} has no predictions. Choose a model of the provider media_async; a video of another one is looked up with GET /media/video.':
    '模型 {0} 没有 predictions。请选择供应商 media_async 的模型；其他供应商的视频请通过 GET /media/video 查询。',
  'changes of images': '修改图片',
  transcripts: '文字记录',
  'must be 1 to 128 letters, digits, _ and -': '必须由 1 到 128 个字母、数字、_ 和 - 组成',
  images: '图片',
  speech: '语音',
  videos: '视频',
  'The media task': '媒体任务',
};
