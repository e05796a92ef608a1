export { sumOfUsages, turnUsage } from './answer.writer.js';
export { ChatModule } from './chat.module.js';
export { CHAT_PING, ChatStreams } from './chat.streams.js';
export { ResponseFormatError } from './format/format.errors.js';
export { StructuredAnswers } from './format/structured-answers.js';
export { BETWEEN_STEPS } from './turn.steps.js';
export { TurnPlanner } from './turn.planner.js';
export type { TurnPlan, TurnQuestion } from './turn.planner.js';
