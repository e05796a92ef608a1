export { baseOf, MCP_PATH, mcpFailures } from './mcp.errors.js';
export { McpFailureView } from './mcp.dto.js';
export { McpServerModule } from './mcp-server.module.js';
export { McpResources } from './mcp.resources.js';
export type { McpResource } from './mcp.resources.js';
