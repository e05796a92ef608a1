export { ScheduleModule } from './schedule.module.js';
