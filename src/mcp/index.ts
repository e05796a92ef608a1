export { McpModule } from './mcp.module.js';
export { distinctNames } from './tool-names.js';
export { ServerTools } from './server-tools.js';
export { ToolServerError } from './tool-server.errors.js';
export { onlyReads } from './tool-text.js';
export type { OfferedTool, ToolCallOutcome, ToolImage } from './server-tools.js';
