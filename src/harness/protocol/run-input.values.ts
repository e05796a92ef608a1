export const INPUT_KINDS = ['STEER', 'FOLLOW_UP'] as const;
export type InputKind = (typeof INPUT_KINDS)[number];
