export interface Place {
  readonly name: string;
  readonly folders: readonly string[];
  readonly onServers: boolean;
  readonly repeat?: boolean;
}

export const places: readonly Place[];
export const notTested: readonly string[];
