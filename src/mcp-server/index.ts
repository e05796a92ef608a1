export { MCP_PATH, mcpFailures } from './mcp.errors.js';
export { McpFailureView } from './mcp.dto.js';
export { McpServerModule } from './mcp-server.module.js';
