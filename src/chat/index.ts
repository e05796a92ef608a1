export { turnUsage } from './chat.answer.js';
export { ChatModule } from './chat.module.js';
export { ChatStreams } from './chat.streams.js';
export { sumOfUsages } from './chat.turn.js';
export { ResponseFormatError } from './format/format.errors.js';
export { StructuredAnswers } from './format/structured-answers.js';
export { BETWEEN_STEPS } from './step/turn.steps.js';
export { turnLimits, TurnPlanner } from './turn.planner.js';
export type { TurnPlan } from './turn.planner.js';
