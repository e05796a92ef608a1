import { Fragment } from './fragment.entity.js';

export { Fragment } from './fragment.entity.js';
export { FragmentModule } from './fragment.module.js';

export const fragmentEntities = [Fragment];
