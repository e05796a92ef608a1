export const RESOLUTIONS = ['EXECUTED', 'NOT_EXECUTED'] as const;
/** What a person has found out about a tool call whose outcome nobody knew. */
export type Resolution = (typeof RESOLUTIONS)[number];
