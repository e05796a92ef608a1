export { MathReader } from './math-tree.js';
export { mathmlToLatex } from './mathml.js';
export { ommlToLatex } from './omml.js';
