import { inOrder } from '../platform/http/index.js';
import { azurePaths } from './azure-paths.js';
import { geminiAddresses } from './gemini/gemini-addresses.js';

/** What addresses of the doors go through before anything else reads them. */
export const doorAddresses = inOrder(azurePaths, geminiAddresses);
