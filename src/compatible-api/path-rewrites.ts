import { compose } from '../platform/http/index.js';
import { azurePaths } from './azure-paths.js';
import { geminiAddresses } from './gemini/gemini-addresses.js';

/** Applied to every request of the compatible APIs before its path is read. */
export const pathRewrites = compose(azurePaths, geminiAddresses);
