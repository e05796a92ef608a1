const DECORATORS = new Set(['Body', 'Query', 'Param']);

/**
 * Nest reads the class of a `@Body() body: X` from metadata that the compiler writes only for a value import.
 * With `import type` the class is gone at run time, and its validation is off without any error.
 */
export const decoratedTypes = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      typeOnly:
        '{{name}} validates this input, so it must exist at run time: import it without "type".',
    },
  },
  create(context) {
    return {
      Identifier(parameter) {
        const type = parameter.typeAnnotation?.typeAnnotation;
        if (!parameter.decorators?.some(isInput)) return;
        if (type?.type !== 'TSTypeReference' || type.typeName.type !== 'Identifier') return;
        if (isTypeImport(context.sourceCode, type)) {
          context.report({ node: type, messageId: 'typeOnly', data: { name: type.typeName.name } });
        }
      },
    };
  },
};

function isInput(decorator) {
  return DECORATORS.has(decorator.expression.callee?.name);
}

function isTypeImport(sourceCode, type) {
  for (let scope = sourceCode.getScope(type); scope; scope = scope.upper) {
    const definition = scope.set.get(type.typeName.name)?.defs[0];
    if (!definition) continue;
    return (
      definition.type === 'ImportBinding' &&
      (definition.parent.importKind === 'type' || definition.node.importKind === 'type')
    );
  }
  return false;
}
