export const grant = {
  'The knowledge base': '知识库',
  'The agent': '智能体',
  'The tool server': '工具服务器',
  '{0}: you need the access level {1}. Ask one who manages the record.':
    '{0}：您需要访问级别 {1}。请联系管理该记录的人。',
  'To give every user of the tenant access, you need the permission access:publish. Grant it to users, roles or groups instead, or ask an administrator.':
    '要让租户的所有用户都能访问，您需要权限 access:publish。请改为授予用户、角色或用户组，或联系管理员。',
  'One of the grants must have the level manage, or no user could change or delete the record. Give it to a user, role or group.':
    '至少要有一项授权的级别为 manage，否则没有用户能更改或删除该记录。请将其授予某个用户、角色或用户组。',
  '{0} can be granted with the level {1} only.': '{0}只能以级别 {1} 授权。',
  'The subject {0} is in the list twice. Send it once, with its highest level.':
    '主体 {0} 在列表中出现了两次。请只发送一次，并使用其最高级别。',
  'There is no subject {0}. GET /access/subjects lists the users, roles and groups of the tenant.':
    '没有主体 {0}。GET /access/subjects 列出租户的用户、角色和用户组。',
  'must be tenant, user:ID, role:ID or group:ID': '必须是 tenant、user:ID、role:ID 或 group:ID',
  '{0}: no grant of the user, of their roles or groups has this level. Grant it.':
    '{0}：该用户及其角色、用户组的授权都没有此级别。请授予。',
  '{0}: the user has the grant, but not the permission {1}. Give them a role with it.':
    '{0}：该用户有授权，但没有权限 {1}。请给其分配具有该权限的角色。',
  'To choose who may read a document, you need the permission access:grant. Ask an administrator for it, or leave the readers out.':
    '要选择谁可以阅读文档，您需要权限 access:grant。请向管理员申请，或不指定读者。',
  'grants: null takes away the readers of a document. Send the list of grants.':
    'grants: null 用于取消文档的读者列表。请发送授权列表。',
  'readers must be JSON of a list of at most {0} subjects, each tenant, user:ID, role:ID or group:ID.':
    'readers 必须是 JSON 列表，最多 {0} 个主体，每个为 tenant、user:ID、role:ID 或 group:ID。',
  'The type of a record is {0}.': '记录的类型是 {0}。',
  '{0} must have at most {1} entries': '{0} 最多可有 {1} 项',
  '{0} must be a list of objects': '{0} 必须是对象列表',
};
