export { baseOf, MCP_PATH, mcpFailures, resourcesOf } from './mcp.errors.js';
export { McpFailureView } from './mcp.dto.js';
export { McpServerModule } from './mcp-server.module.js';
export { McpTools } from './mcp.tools.js';
