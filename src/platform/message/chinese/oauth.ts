export const oauth = {
  'The application is not registered here, or its registration has expired. Remove the connection in the application and connect again.':
    '该应用未在此注册，或其注册已过期。请在应用中删除该连接并重新连接。',
  'The address that the application wants you to return to is not one of its own. Do not continue, and tell its vendor.':
    '该应用要求您返回的地址不是它自己的地址。请不要继续，并告知其供应商。',
  'The description of the application at {0} could not be read or is not valid. Try again later, or tell its vendor.':
    '无法读取位于 {0} 的应用说明，或说明无效。请稍后重试，或告知其供应商。',
  'Choose at least one of the permissions that the application asks for.':
    '请至少选择一项该应用请求的权限。',
  'The application asks in a way that is not supported: response_type must be code. Tell its vendor.':
    '该应用的请求方式不受支持：response_type 必须是 code。请告知其供应商。',
  'The application does not protect the connection: code_challenge by the method S256 is required. Tell its vendor.':
    '该应用没有保护此连接：需要使用 S256 方法的 code_challenge。请告知其供应商。',
  'The application asks for access to another service. Check the address that you have entered in it.':
    '该应用请求访问另一个服务。请检查您在应用中输入的地址。',
  'The application asks only for permissions that do not exist here. Tell its vendor.':
    '该应用只请求此处不存在的权限。请告知其供应商。',
  'You have none of the permissions that the application asks for. Ask an administrator for them.':
    '您没有该应用请求的任何权限。请联系管理员授予。',
  'permissions: the application does not ask for {0}.': 'permissions：该应用没有请求 {0}。',
};
