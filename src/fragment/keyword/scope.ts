export interface KnowledgeScope {
  readonly tenantId: string;
  readonly knowledgeId: number;
}

export interface AttachmentScope extends KnowledgeScope {
  readonly attachmentId: number;
}
