import type { AddressForm } from './address.js';
import type { AdapterNames } from './named-adapter.js';

/** What the adapters of one vendor for several kinds of models have in common. */
export interface Vendor extends AdapterNames {
  /** `prefix` is the path that the vendor's documentation gives for a bare domain. */
  readonly address: Omit<AddressForm, 'endpoint' | 'siblings'>;
}

const v1 = { prefix: '/v1' };
/** DashScope. Its rerank models have a base of their own, whose address people use for the others, too. */
const dashscope = {
  prefix: '/compatible-mode/v1',
  endings: { '/compatible-api/v1': '/compatible-mode/v1' },
};

export const vendors = {
  openai: { code: 'openai', label: 'OpenAI', address: v1 },
  zhipu: { code: 'zhipu', label: 'Zhipu', address: { prefix: '/api/paas/v4' } },
  qianwen: { code: 'qianwen', label: 'Tongyi Qianwen', address: dashscope },
  /** The same service under the code that existing records of embedding and rerank models have. */
  bailian: { code: 'alibailian', label: 'Alibaba Bailian', address: dashscope },
  ppio: {
    code: 'ppio',
    label: 'PPIO',
    address: { prefix: '/openai/v1', endings: { '/openai': '/openai/v1' } },
  },
  siliconflow: { code: 'siliconflow', label: 'SiliconFlow', address: v1 },
  /** Any service of these protocols. */
  custom: {
    code: 'custom_api',
    label: 'Custom',
    address: { ...v1, foreignEndpoints: ['/messages'] },
  },
} as const satisfies Record<string, Vendor>;
