/** One page of the existing admin console; who may list its records sees it. */
export interface MenuPage {
  readonly path: string;
  readonly title: string;
  readonly icon: string;
  /** The console's own name of the page. */
  readonly component: string;
  readonly permission: string;
}

export interface MenuFolder {
  readonly path: string;
  readonly title: string;
  readonly icon: string;
  readonly pages: readonly MenuPage[];
}

/** The pages whose routes exist here, in the order of the menu. A new page is one line. */
// prettier-ignore
export const menu: readonly MenuFolder[] = [
  {
    path: 'chat', title: 'AI', icon: 'lucide:bot',
    pages: [
      { path: 'provider', title: 'Providers', icon: 'lucide:plug', component: 'chat/provider/index', permission: 'system:provider:list' },
      { path: 'model', title: 'Models', icon: 'lucide:cpu', component: 'chat/model/index', permission: 'system:model:list' },
      { path: 'message', title: 'Messages', icon: 'lucide:mail', component: 'chat/message/index', permission: 'system:message:list' },
    ],
  },
  {
    path: 'knowledge', title: 'Knowledge', icon: 'lucide:library',
    pages: [
      { path: 'info', title: 'Knowledge bases', icon: 'lucide:library', component: 'knowledge/info/index', permission: 'system:info:list' },
      { path: 'attach', title: 'Documents', icon: 'lucide:files', component: 'knowledge/attach/index', permission: 'system:attach:list' },
      { path: 'fragment', title: 'Fragments', icon: 'lucide:text-select', component: 'knowledge/fragment/index', permission: 'system:fragment:list' },
    ],
  },
  {
    path: 'agent', title: 'Agents', icon: 'lucide:bot-message-square',
    pages: [
      { path: 'agent', title: 'Agents', icon: 'lucide:bot-message-square', component: 'agent/agent/index', permission: 'agent:agent:list' },
    ],
  },
];
