export class DomainError {}
