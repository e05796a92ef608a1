export { dictionaryEntities } from './dictionary.entity.js';
export { DictionaryModule } from './dictionary.module.js';
